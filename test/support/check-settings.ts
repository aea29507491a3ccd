/** The checks with their default numbers. */
import { configSchema } from '../../config/schema.ts';
import type { Config } from '../../config/schema.ts';
import { wellChecksOf } from '../../src/app/job-settings.ts';
import type { WellChecks } from '../../src/warehouse/port/wells.ts';

/** As a configuration of these settings has them. */
export function checksOf(settings: object = {}): WellChecks {
  const checks = wellChecksOf(configSchema.parse(settings) as unknown as Config);
  if (checks === undefined) throw new Error('these settings make no check');
  return checks;
}
