/** Decides how a wrong value of a setting is told, where the schema has no words of its own. Pure. */
import type { z } from 'zod';

/** For `safeParse`: undefined leaves the library's own words, for faults that no setting can have. */
export function settingWords(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${typeWords[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return `must be ${issue.inclusive === false ? 'above' : 'at least'} ${boundWords(issue.minimum, issue.origin)}`;
    case 'too_big':
      return `must be ${issue.inclusive === false ? 'below' : 'at most'} ${boundWords(issue.maximum, issue.origin)}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`;
    default:
      return undefined;
  }
}

const typeWords: Readonly<Record<string, string>> = {
  number: 'a number',
  int: 'a whole number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'a group of settings',
  record: 'a group of settings',
};

function boundWords(bound: number | bigint, origin: string): string {
  if (origin === 'string') return `${bound} ${bound === 1 ? 'character' : 'characters'} long`;
  return origin === 'array' ? `${bound} long` : String(bound);
}
