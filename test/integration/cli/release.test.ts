/** Held rows from the command line: what stays, what a release asks of the service, and what it lets go. */
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { ServedTimeSeries } from '../../../src/testing-server/data/assets.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer, type TestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { dailyUrl, januaryRows, UWI } from '../../support/testing-server-requests.ts';

interface HeldDocument {
  readonly rows: number;
  readonly targets: number;
  readonly parts: ReadonlyArray<{ readonly target: string; readonly month: string | null; readonly runId: string }>;
}

interface ReportDocument {
  readonly runId: string;
  readonly state: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** Removes the rows of these days of January at the service. */
async function removeDays(server: TestingServer, days: readonly number[], uwi = UWI): Promise<void> {
  const answer = await fetch(dailyUrl(server, { limit: 100 }, uwi));
  const rows = (await answer.json()) as ReadonlyArray<{ readonly xid: string; readonly oilRate: number }>;
  const gone = rows.filter((each) => days.includes(each.oilRate));
  server.state.changeDaily(gone.map(({ xid }) => JSON.stringify({ uwi, remove: xid })).join('\n'));
}

const january = ['--from', '2024-01-01', '--to', '2024-02-01'];

async function report(
  home: CliHome,
  args: readonly string[],
): Promise<ReportDocument & { readonly code: number | null }> {
  const { stdout, stderr, code } = await home.here([...args, '--inline', '--json']);
  if (stdout === '') throw new Error(stderr);
  return { ...(JSON.parse(stdout) as ReportDocument), code };
}

async function held(home: CliHome, runId: string): Promise<HeldDocument> {
  const { stdout } = await home.here(['runs', 'release', runId, '--dry-run', '--json']);
  return JSON.parse(stdout) as HeldDocument;
}

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

/** Passes requests on to `target`, but answers 400 for the wells that begin with `bad`; `asked` has the wells. */
async function startInFrontOf(target: string): Promise<{ readonly url: string; readonly asked: Set<string> }> {
  const asked = new Set<string>();
  const server = createServer((request, response) => {
    const uwi = decodeURIComponent(/\/daily\/([^?]+)/.exec(request.url ?? '')?.[1] ?? '');
    asked.add(uwi);
    void (async () => {
      const answer = uwi.startsWith('bad') ? undefined : await fetch(`${target}${request.url}`);
      response.writeHead(answer?.status ?? 400, { 'content-type': 'application/json' });
      response.end(answer === undefined ? '{"error":"bad well"}' : await answer.text());
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

describe('the release of held rows', () => {
  test('G4: a removal that was held is not carried out by a deeper read; a release lets go what was shown', async () => {
    await using server = await startTestingServer({ data: givenDaily(januaryRows(31)) });
    await using home = await cliHome(server.url);
    const wells = ['--uwi', UWI];
    await home.here(['export', 'daily-production', ...wells, ...january, '--inline']);
    await removeDays(server, [10, 11, 12, 13, 14, 15, 16, 17]);
    const first = await report(home, ['export', 'daily-production', ...wells, ...january]);
    expect(first).toMatchObject({ code: 3, counts: { heldRows: 8, removed: 0 } });
    const deep = await report(home, ['export', 'daily-production', ...wells, '--from', '2000-01-01']);
    // The first run told of it.
    expect(deep).toMatchObject({ code: 0, counts: { heldRows: 8, removed: 0 } });

    const shown = await home.here(['runs', 'release', first.runId, '--dry-run']);
    expect(shown.stdout).toMatch(/2024-01 +2024-01-10 to 2024-01-17 +8 /);
    const unasked = await home.here(['runs', 'release', first.runId, '--inline']);
    expect(unasked).toMatchObject({ code: 2 });
    expect(unasked.stderr).toContain('nobody can be asked here: nothing was released');
    const listed = await home.here(['runs', 'held']);
    expect(listed.stdout).toContain('8 rows of 1 target that the service no longer has.');

    const released = await report(home, ['runs', 'release', deep.runId, '--yes']);
    expect(released).toMatchObject({ code: 0, state: 'done', counts: { removed: 8, heldRows: 0 } });
    expect((await home.here(['runs', 'held'])).stdout).toContain('No rows are held.');
    const retried = await home.here(['runs', 'retry', released.runId]);
    expect(retried).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('it is not retried, they are released again'),
    });
    const again = await home.here(['runs', 'release', first.runId, '--yes']);
    expect(again).toMatchObject({ code: 2 });
    expect(again.stderr).toContain(`run ${first.runId} holds no rows`);
  });

  test('G4: a run that removes more rows than maxRowsPerRun, unapproved, says so and ends with exit code 3', async () => {
    await using server = await startTestingServer({ data: givenDaily(januaryRows(31)) });
    await using home = await cliHome(server.url, { config: 'export: { shrink: { maxRowsPerRun: 1 } }\n' });
    const night = ['export', 'daily-production', '--uwi', UWI, ...january];
    await home.here([...night, '--inline']);
    await removeDays(server, [10]);
    expect(await report(home, night)).toMatchObject({ code: 0, counts: { removed: 1 }, notices: [] });
    await removeDays(server, [11, 12]);
    expect(await report(home, night)).toMatchObject({
      code: 3,
      state: 'done',
      counts: { removed: 2, removedUnapproved: 2, heldRows: 0 },
      notices: [expect.stringContaining('more than export.shrink.maxRowsPerRun (1)')],
    });
    await removeDays(server, [13, 14, 15, 16, 17]);
    const allowed = await report(home, [...night, '--allow-shrink']);
    expect(allowed).toMatchObject({ code: 0, counts: { removed: 5 }, notices: [] });
    expect(allowed.counts).not.toHaveProperty('removedUnapproved');
  });

  test('G4: asks the service for the wells with held rows alone, behind any number of failures', async () => {
    const wells = Array.from({ length: 3 }, (_, index) => `well ${index}`);
    const bad = Array.from({ length: 120 }, (_, index) => `bad ${index}`);
    await using server = await startTestingServer({ data: givenDaily(wells.flatMap((uwi) => januaryRows(31, uwi))) });
    const front = await startInFrontOf(server.url);
    await using home = await cliHome(front.url, {
      config: `export:\n  wells: ${JSON.stringify([...bad, ...wells])}\n`,
    });
    await home.here(['export', 'daily-production', ...january, '--inline']);
    for (const uwi of wells.slice(1)) await removeDays(server, [1, 2, 3, 4, 5, 6, 7, 8, 9], uwi);
    const night = await report(home, ['export', 'daily-production', ...january]);
    expect(night).toMatchObject({ code: 1, counts: { heldRows: 18 } });
    expect(await held(home, night.runId)).toMatchObject({ targets: 2, rows: 18 });
    front.asked.clear();
    expect(await report(home, ['runs', 'release', night.runId, '--yes'])).toMatchObject({
      code: 0,
      counts: { removed: 18 },
    });
    expect([...front.asked].toSorted()).toEqual(wells.slice(1));
  });

  test('G4: of gaps, and of time series, is a run of the same job', async () => {
    const equipment: Record<string, readonly ServedTimeSeries[]> = { 'EQ 1': [series(1), series(2)] };
    await using server = await startTestingServer({ data: givenDaily(januaryRows(31)), assets: { equipment } });
    await using home = await cliHome(server.url);
    const named = ['--equipment', 'EQ 1'];
    await home.here(['export', 'time-series', ...named, '--inline']);
    equipment['EQ 1'] = [];
    const empty = await report(home, ['export', 'time-series', ...named]);
    expect(empty).toMatchObject({ code: 3, counts: { heldRows: 2 } });
    expect(await report(home, ['export', 'time-series', ...named])).toMatchObject({
      counts: { heldRows: 2, removed: 0 },
    });
    const series2 = await report(home, ['runs', 'release', empty.runId, '--yes']);
    expect(series2).toMatchObject({ job: 'export time-series', state: 'done', counts: { removed: 2 } });

    const wells = ['--uwi', UWI];
    await removeDays(server, [1, 20]);
    await home.here(['export', 'daily-production', ...wells, '--from', '2024-01-02', '--to', '2024-01-20', '--inline']);
    await removeDays(server, [3, 4, 5, 6, 7, 8, 9, 10]);
    const gaps = await report(home, ['export', 'daily-production', ...wells, ...january, '--gaps']);
    expect(gaps).toMatchObject({ code: 3, counts: { heldRows: 8 } });
    expect(await report(home, ['runs', 'release', gaps.runId, '--yes'])).toMatchObject({
      job: 'export daily-production --gaps',
      state: 'done',
      counts: { removed: 8, heldRows: 0 },
    });
  });
});

function series(number: number): ServedTimeSeries {
  const uuid = (of: number): string => `00000000-0000-4000-8000-${String(of).padStart(12, '0')}`;
  return { xid: uuid(number), equipmentXid: uuid(900), sourceId: `S${number}`, measurement: 'OilRate', unit: 'bar' };
}
