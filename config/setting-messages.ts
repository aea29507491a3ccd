/** Messages for faults of settings whose schema has no message of its own. Pure. */
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

/** Error map for `safeParse(value, { error: settingMessage })`; undefined leaves the message to zod. */
export function settingMessage(issue: z.core.$ZodRawIssue): string | undefined {
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
