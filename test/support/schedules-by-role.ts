/** A schedule of each kind, by what its runs do: an export, one that lets rows go, and a cleanup. */
import { well } from './cleanup-cli.ts';
import type { CliHome } from './cli.ts';
import { UWI } from './testing-server-requests.ts';

const cron = 'cron: "0 7 1 * *", timeZone: UTC';

export const schedulesByRole = `
cleanup: { maxShareOfWellsPercent: 100, selections: { retired: { file: retired.csv, maxTargets: 1, maxShareOfWellsPercent: 100 } } }
schedules:
  revision: 1
  entries:
    nightly: { ${cron}, job: export daily-production, parameters: { wells: ["${UWI}"] } }
    shrinking: { ${cron}, job: export wells, parameters: { wells: ["${well}"], allowShrink: true } }
    retired: { ${cron}, job: cleanup, parameters: { selection: retired } }
`;

/** The file that the schedule of the cleanup names. */
export async function writeSelection(home: CliHome): Promise<void> {
  await home.write('retired.csv', 'kind,well,equipment,source_id\nwellbores,spared,,\n');
}
