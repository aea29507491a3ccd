/** What an operator may have meant by a name that is no setting. Pure. */
import { z } from 'zod';
import { nearestName } from '../src/core/base/nearest-name.ts';
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

/** Variables that are not known and nearly have the name of one that is, with that one. */
export function misspeltVariables(
  environment: Readonly<Record<string, string | undefined>>,
): ReadonlyArray<{ readonly given: string; readonly meant: string }> {
  return Object.keys(environment)
    .filter((name) => name.startsWith('WELLSYN') && environment[name] !== '' && !knownVariables.includes(name))
    .flatMap((given) => {
      const meant = nearestName(given, knownVariables, mostLettersOff);
      return meant === undefined ? [] : [{ given, meant }];
    });
}
