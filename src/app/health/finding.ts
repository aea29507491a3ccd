/**
 * What the doctor found of one part, with a remedy that an operator can act on, and how long it waits for a warehouse.
 */
import type { Config } from '../../../config/schema.ts';
import type { Action } from '../../core/base/action.ts';
import { isBusy, UsageError, WellsyncError } from '../../core/base/errors.ts';
import { type App, type AppOptions, createApp } from '../app.ts';

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
