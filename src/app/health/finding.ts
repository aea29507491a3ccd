/**
 * What the doctor found of one part, with a remedy that an operator can act on, and how long it waits for a warehouse.
 */
import type { Config } from '../../../config/schema.ts';
import type { Action } from '../../core/base/action.ts';
import { isBusy, UsageError, WellsyncError } from '../../core/base/errors.ts';
import { type App, type AppOptions, createApp } from '../app.ts';
import { existsSync } from 'node:fs';
import { configFileVariable, defaultConfigFile } from '../../../config/config-file.ts';
import type { Environment } from '../../../config/load.ts';
import { knownVariables } from '../../../config/setting-names.ts';
import { listed } from '../../core/base/text.ts';

export interface Finding {
  readonly part: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly message: string;
  readonly hint: string | null;
  readonly action: Action | null;
}

/** The remedy of an error, or the part of it that a finding shows. */
interface Remedy {
  readonly hint?: string | undefined;
  readonly action?: Action | undefined;
}

export function ok(part: string, message: string): Finding {
  return { part, status: 'ok', message, hint: null, action: null };
}

export function warning(part: string, message: string, { hint, action }: Remedy): Finding {
  return { part, status: 'warning', message, hint: hint ?? null, action: action ?? null };
}

export function failed(part: string, message: string, remedy: Remedy): Finding {
  return { ...warning(part, message, remedy), status: 'failed' };
}

/** The finding for an error; `otherwise` is the remedy for one without. Rethrows an unknown error. */
export function failedFinding(part: string, error: unknown, otherwise: Remedy = {}): Finding {
  if (!(error instanceof WellsyncError)) throw error;
  const issues = error instanceof UsageError ? error.issues : [];
  const hasRemedy = error.hint !== undefined || error.action !== undefined;
  return failed(part, [error.message, ...issues].join('\n'), hasRemedy ? error : otherwise);
}

/** `otherwise`: the remedy for an error without one. */
export async function checked(part: string, otherwise: Remedy, check: () => Promise<Finding>): Promise<Finding> {
  try {
    return await check();
  } catch (error) {
    return failedFinding(part, error, otherwise);
  }
}

// How long the parts of the doctor wait for a warehouse that another program holds: in full once, then hardly.

/** Longer than a worker holds its file while another process waits for it. */
const usualWaitMs = 3_000;
/** What held it for so long holds it for the rest of the parts too. */
const laterWaitMs = 300;

export class Patience {
  #lockWaitMs = usualWaitMs;

  /** Calls `check` with an app of its own: what one part closes, or breaks, keeps no other from its check. */
  async withApp<T>(
    config: Config,
    check: (app: App) => Promise<T>,
    options: Omit<AppOptions, 'lockWaitMs'> = {},
  ): Promise<T> {
    await using app = createApp(config, { ...options, lockWaitMs: this.#lockWaitMs });
    try {
      return await check(app);
    } catch (error) {
      this.observe(error);
      throw error;
    }
  }

  /** For an error that a check does not pass on. */
  observe(error: unknown): void {
    if (isBusy(error)) this.#lockWaitMs = laterWaitMs;
  }
}

// Checks that need no configuration. Findings show names of variables only: values may be secret (G10).

const oldestNode = [20, 19] as const;

export function checksBeforeConfig(environment: Environment, configFlag: string | undefined): readonly Finding[] {
  return [nodeVersion(), configFile(environment, configFlag), ...variables(environment)];
}

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isEnough = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  if (isEnough) return ok('node', process.version);
  return failed('node', `${process.version} is too old`, { hint: `Install Node ${oldestNode.join('.')} or later.` });
}

function configFile(environment: Environment, flag: string | undefined): Finding {
  const named = flag ?? environment[configFileVariable];
  if (named === undefined || named === '') {
    return ok('config file', existsSync(defaultConfigFile) ? defaultConfigFile : 'none: defaults apply');
  }
  if (existsSync(named)) return ok('config file', named);
  return failed('config file', `there is no file ${named}`, {
    hint: `Check the path, and ${configFileVariable} where that names it.`,
  });
}

function variables(environment: Environment): readonly Finding[] {
  const set = Object.keys(environment).filter((name) => name.startsWith('WELLSYNC_') && environment[name] !== '');
  const known = set.filter((name) => knownVariables.includes(name));
  const unknown = set.filter((name) => !knownVariables.includes(name));
  const found = ok('environment', known.length === 0 ? 'no variable of wellsync is set' : listed(known));
  if (unknown.length === 0) return [found];
  const remedy = { hint: 'Check the spelling.', action: { kind: 'list-variables' } } as const;
  return [found, warning('environment', `without effect: ${listed(unknown)}`, remedy)];
}
