/** One export of hostile wells among good ones, and what it left of each. */
import { expect } from 'vitest';
import { cliHome } from './cli.ts';
import { hostileCases, type HostileCase } from './hostile-modes.ts';
import { goodRows, startHostileServer } from './hostile-server.ts';

const configWith = (timeoutMs: number): string => `
service: { timeoutMs: ${timeoutMs}, maxBodyBytes: 4000000, retry: { attempts: 1 } }
queue: { attempts: 1 }
`;

export interface HostileOutcome {
  readonly state: string;
  readonly code: string | null;
  readonly message: string | null;
  readonly rows: number;
  readonly quarantined: number;
}

export interface HostileRun {
  readonly code: number | null;
  readonly stderr: string;
  readonly wells: ReadonlyMap<string, HostileOutcome>;
  /** Rows whose oil rate or text is not what the service sent. */
  readonly wrongRows: readonly unknown[];
}

/** Row n is dated the n-th day after the first of January, with the oil rate n. */
const wrong = `
  SELECT uwi, production_day, oil_rate FROM daily_production
  WHERE oil_rate <> CASE WHEN uwi = 'twice' AND oil_rate = 8 THEN 8 ELSE dayofmonth(production_day) - 1 END
    OR contains(concat(downtime_code, extras), chr(65533))`;

const outcomes = `
  SELECT u.target, u.state, u.fault->>'$.code' AS code, u.fault->>'$.message' AS message,
    (SELECT count(*) FROM daily_production d WHERE d.uwi = u.target) AS rows,
    (SELECT count(*) FROM quarantine q WHERE q.uwi = u.target) AS quarantined
  FROM run_unit u`;

/** Exports the wells of these cases, each after a good one. The time-out is long unless a case has to meet it. */
export async function exportHostileWells(names: readonly string[], timeoutMs = 60_000): Promise<HostileRun> {
  const modes = Object.fromEntries(names.map((name) => [name, caseOf(name).mode]));
  await using server = await startHostileServer(modes);
  await using home = await cliHome(server.baseUrl, { config: configWith(timeoutMs) });
  const wells = names.flatMap((name, index) => [`good ${index}`, name]);
  const file = await home.write('wells.csv', ['uwi', ...wells].join('\n'));
  const range = ['--from', '2024-01-01', '--to', '2024-01-11'];
  const { code, stderr } = await home.here(['export', 'daily-production', '--wells', file, ...range, '--inline']);
  const { stdout } = await home.here(['query', outcomes, '--json']);
  const wrongRows = JSON.parse((await home.here(['query', wrong, '--json'])).stdout) as readonly unknown[];
  const rows = JSON.parse(stdout) as readonly (HostileOutcome & { readonly target: string })[];
  return { code, stderr, wrongRows, wells: new Map(rows.map(({ target, ...outcome }) => [target, outcome])) };
}

function caseOf(name: string): HostileCase {
  const found = hostileCases[name];
  if (found === undefined) throw new Error(`there is no hostile case ${name}`);
  return found;
}

/** The end of a case, and the nine rows of every good well. */
export function expectHostileEnd({ wells }: HostileRun, name: string): void {
  const { end } = caseOf(name);
  const outcome = wells.get(name);
  const wanted =
    'code' in end ? { state: 'failed', code: end.code } : { state: 'done', quarantined: 0, code: null, ...end };
  expect({ name, ...outcome }).toMatchObject({ name, ...wanted });
  expect(outcome?.message ?? '', name).not.toMatch(/[A-Z]\w*Error\b|fault of wellsync/);
  for (const [target, { rows, state }] of wells) {
    if (target.startsWith('good')) expect({ target, rows, state }).toEqual({ target, rows: goodRows, state: 'done' });
  }
}
