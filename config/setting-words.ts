/** Decides how the fault of a setting reads where its schema has no words of its own. Pure. */
import type { z } from 'zod';

const types: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'settings by name',
  record: 'settings by name',
  string: 'a text',
};

/** For `safeParse(value, { error: settingWords })`; undefined leaves it to the schema's library. */
export function settingWords(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${types[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.join(', ')}`;
    case 'too_small':
      return leastWords(issue.origin, Number(issue.minimum), issue.inclusive !== false);
    case 'too_big':
      return `must be ${issue.inclusive === false ? `below ${issue.maximum}` : `${issue.maximum} or less`}`;
    case 'invalid_format':
      return issue.format === 'date' ? 'must be a day, such as 2024-03-31' : undefined;
    case 'invalid_union':
      return 'is none of the values that it may have';
    case 'invalid_key':
      return 'cannot be named so';
    case 'invalid_element':
    case 'not_multiple_of':
    case 'unrecognized_keys':
    case 'custom':
    default:
      return undefined;
  }
}

function leastWords(origin: string, least: number, isInclusive: boolean): string {
  if (origin !== 'number' && origin !== 'int') return least === 1 ? 'must not be empty' : `must have ${least} or more`;
  return isInclusive ? `must be ${least} or more` : `must be above ${least}`;
}
