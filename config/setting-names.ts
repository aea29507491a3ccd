/** What an operator may have meant by a name that is no setting. Pure. */
import { z } from 'zod';
import { nearestName } from '../src/core/base/text.ts';
import { configFileVariable } from './config-file.ts';
import { configSchema, environmentSettings } from './schema.ts';

/** Variables of wellsync that are no settings. */
const otherVariables = [configFileVariable, 'WELLSYNC_DEBUG', 'WELLSYNC_TESTING_TOKEN'];

export const knownVariables: readonly string[] = [...Object.keys(environmentSettings), ...otherVariables];

/** The setting beside an unknown one whose name is nearest: `service.url` for `service.urll`. */
export function settingNear(path: readonly PropertyKey[]): string | undefined {
  const above = path.slice(0, -1).map(String);
  const near = nearestName(String(path.at(-1)), namesIn(above));
  return near === undefined ? undefined : [...above, near].join('.');
}

function namesIn(path: readonly string[]): readonly string[] {
  let schema: unknown = configSchema;
  for (const name of path) schema = shapeOf(schema)[name];
  return Object.keys(shapeOf(schema));
}

/** The settings of a schema, within its defaults and refinements; none where it has no fixed names. */
function shapeOf(schema: unknown): Readonly<Record<string, unknown>> {
  if (schema instanceof z.ZodObject) return schema.shape;
  if (schema instanceof z.ZodPipe) return shapeOf(schema.def.in);
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) {
    return shapeOf(schema.def.innerType);
  }
  return {};
}

/** A slip of the hand. Names that differ more may belong to others: Kubernetes sets WELLSYNC_SERVICE_HOST. */
const mostLettersOff = 2;

/** A fault for each variable that is not known and nearly has the name of one that is. */
export function misspeltVariables(environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('WELLSYN') && environment[name] !== '' && !knownVariables.includes(name))
    .flatMap((given) => {
      const meant = nearestName(given, knownVariables, mostLettersOff);
      return meant === undefined ? [] : [`${given} is no variable of wellsync: did you mean ${meant}?`];
    });
}

/** Messages for faults of settings whose schema has no message of its own. Pure. */
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
      return leastText(issue.origin, Number(issue.minimum), issue.inclusive !== false);
    case 'too_big':
      return mostText(issue.origin, Number(issue.maximum), issue.inclusive !== false);
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

function mostText(origin: string, most: number, isInclusive: boolean): string {
  if (origin !== 'number' && origin !== 'int') return `must have ${most} or fewer`;
  return `must be ${isInclusive ? `${most} or less` : `below ${most}`}`;
}

function leastText(origin: string, least: number, isInclusive: boolean): string {
  if (origin !== 'number' && origin !== 'int') return least === 1 ? 'must not be empty' : `must have ${least} or more`;
  return isInclusive ? `must be ${least} or more` : `must be above ${least}`;
}
