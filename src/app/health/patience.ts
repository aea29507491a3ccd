/** How long the parts of the doctor wait for a warehouse that another program holds: in full once, then hardly. */
import type { Config } from '../../../config/schema.ts';
import { isBusy } from '../../core/base/outage.ts';
import { type App, type AppOptions, createApp } from '../app.ts';

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
