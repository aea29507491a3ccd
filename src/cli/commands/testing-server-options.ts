/** Options of the testing server, from flags, `--fault name=rate` and `--option name=value`. */
import { z } from 'zod';
import { settingMessage } from '../../../config/setting-names.ts';
import { UsageError } from '../../core/base/errors.ts';
import { type TestingServerOptions, testingServerOptionsSchema } from '../../testing-server/options.ts';
import type { Lists, Numbers, Texts } from '../command.ts';

export type ServerFlags = Texts<'host'> &
  Numbers<'seed' | 'pageBase' | 'defaultLimit' | 'maxLimit' | 'latencyMs'> &
  Lists<'fault' | 'option'> & { readonly port: number };

/** Options with flags of their own. */
const notByOption: Readonly<Record<string, string>> = {
  faults: 'use --fault name=rate',
  requiredToken: 'set WELLSYNC_TESTING_TOKEN, since a process list shows flags',
};

/** Throws UsageError with every fault at once. */
export function serverOptions(flags: ServerFlags, requiredToken: string | undefined): TestingServerOptions {
  const { host, port, seed, pageBase, defaultLimit, maxLimit, latencyMs, fault = [], option = [] } = flags;
  return checkedBy(testingServerOptionsSchema, {
    ...namedValues('--option', option),
    ...defined({ host, seed, pageBase, defaultLimit, maxLimit, latencyMs, requiredToken }),
    port,
    faults: namedValues('--fault', fault),
  });
}

/** The parsed value. Throws UsageError with every issue, each with the name of its option, or its flag in `flags`. */
export function checkedBy<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  flags: Readonly<Record<string, string>> = {},
): z.output<Schema> {
  const result = schema.safeParse(value, { error: settingMessage });
  if (result.success) return result.data;
  throw new UsageError('the testing server cannot be set up so', {
    issues: result.error.issues.flatMap((issue) => issueTexts(issue, flags)),
    hint: 'wellsync testing-server --help lists every option with its values.',
  });
}

function issueTexts(issue: z.core.$ZodIssue, flags: Readonly<Record<string, string>>): readonly string[] {
  const name = issue.path.join('.');
  if (issue.code !== 'unrecognized_keys') return [`${flags[name] ?? name}: ${issue.message}`];
  return issue.keys.map((key) => `${[...issue.path, key].join('.')}: there is no such option`);
}

function namedValues(flag: string, given: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(given.map((entry) => namedValue(flag, entry)));
}

function namedValue(flag: string, entry: string): readonly [string, unknown] {
  const equals = entry.indexOf('=');
  const name = entry.slice(0, Math.max(0, equals));
  if (name === '') throw new UsageError(`${flag} ${entry} is not of the form name=value`);
  const instead = flag === '--option' ? notByOption[name] : undefined;
  if (instead !== undefined) throw new UsageError(`--option ${name} is not taken: ${instead}`);
  return [name, valueOf(entry.slice(equals + 1))];
}

/** The value of JSON text (a number, true, a list), else the text itself. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function defined(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** The names for --option and --fault with their meaning and their values, for the help. */
export function optionList(): string {
  const { properties } = settingSchema.parse(z.toJSONSchema(testingServerOptionsSchema, { io: 'input' }));
  const { faults, ...others } = properties ?? {};
  const options = Object.entries(others).filter(([name]) => notByOption[name] === undefined);
  const rates = Object.entries(faults?.properties ?? {});
  return ['Names for --option', ...options.map(optionText), '', 'Names for --fault', ...rates.map(optionText)].join(
    '\n',
  );
}

/** The parts of a JSON schema that the help shows. */
interface Setting {
  readonly description?: string | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Setting>> | undefined;
}

const settingSchema: z.ZodType<Setting> = z.looseObject({
  description: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  default: z.unknown().optional(),
  get properties() {
    return z.record(z.string(), settingSchema).optional();
  },
});

function optionText([name, setting]: readonly [string, Setting]): string {
  const values = setting.enum === undefined ? '' : ` (${setting.enum.join(', ')})`;
  const lines = [`  ${name}=${textOf(setting.default)}${values}`, `      ${setting.description ?? ''}`];
  return lines.join('\n');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
