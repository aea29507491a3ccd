/** Decides how a wrong value of a setting is told, where the schema has no words of its own. Pure. */
import type { z } from 'zod';

/** For `safeParse`: undefined leaves the library's own words, for faults that no setting can have. */
export function settingWords(issue: z.core.$ZodRawIssue): string | undefined {
  const { code } = issue;
  if (code === 'invalid_key') return 'cannot be named so';
  if (code === 'invalid_value') return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
  if (code === 'invalid_type') return issue.input === undefined ? 'is missing' : `must be ${typeText(issue.expected)}`;
  if (code === 'too_small' && issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
  const isExclusive = 'inclusive' in issue && issue.inclusive === false;
  if (code === 'too_small')
    return `must be ${isExclusive ? 'above' : 'at least'} ${boundText(issue.minimum, issue.origin)}`;
  if (code === 'too_big')
    return `must be ${isExclusive ? 'below' : 'at most'} ${boundText(issue.maximum, issue.origin)}`;
  return undefined;
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

function boundText(bound: number | bigint, origin: string): string {
  if (origin === 'string') return `${bound} characters long`;
  return origin === 'array' ? `${bound} long` : String(bound);
}

function typeText(expected: string): string {
  return typeWords[expected] ?? expected;
}
