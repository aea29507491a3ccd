/** Applying plans: when they may be, what becomes of every target, and what the audit says of it. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { cleanupBench, equipment, targetsCsv, well } from '../support/cleanup-cli.ts';
import { deletedAt } from '../support/cleanup-field.ts';
import type { Ending } from '../support/cli.ts';

function expectRefusal(ending: Ending, ...words: readonly string[]): void {
  for (const expected of words) expect(ending.stderr).toContain(expected);
  expect(ending.code).toBe(2);
}

const runSchema = z.object({ runId: z.string() });
const appliedSchema = z.object({ applied: runSchema });

describe('a plan is refused', () => {
  test('G6: that was mistyped, with the one that was likely meant', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    const mistyped = `${planId.slice(0, -1)}${planId.endsWith('0') ? '1' : '0'}`;
    expectRefusal(
      await bench.run('cleanup', '--apply', mistyped),
      `there is no plan ${mistyped}`,
      `Do you mean ${planId}?`,
    );
    expectRefusal(await bench.run('cleanup', 'show', 'xxxx'), 'wellsync cleanup plans shows the plans');
  });

  test('G6: that was applied, that is too old, and that is of another service', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    await using other = await cleanupBench();
    const elsewhere = await bench.run('cleanup', '--apply', planId, '--service-url', other.server.url);
    expectRefusal(
      elsewhere,
      `plan ${planId} is of another service: ${bench.server.url}, and this one is ${other.server.url}`,
    );
    await bench.configure('  planMaxAgeHours: 0.000001');
    expectRefusal(await bench.run('cleanup', '--apply', planId), 'hours ago', 'make a new plan');
    await bench.configure('');
    expect(bench.server.state.deletions()).toEqual([]);
    expect((await bench.run('cleanup', '--apply', planId, '--inline')).code).toBe(0);
    expectRefusal(await bench.run('cleanup', '--apply', planId, '--inline'), `plan ${planId} was applied already`);
  });

  test('G6: of which the service shows something else by now, with what differs', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    Object.assign(bench.field.wells[well]?.body ?? {}, { status: 'PRODUCING' });
    bench.field.equipment[equipment]?.shift();
    expectRefusal(
      await bench.run('cleanup', '--apply', planId, '--inline'),
      `wellbores of well ${well}: status was "ACTIVE", is "PRODUCING"`,
      `time series a b of equipment ${equipment}: was present, is absent`,
    );
    expect(bench.server.state.deletions()).toEqual([]);
  });

  test('G6: whose caps were lowered since', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    await bench.configure('  maxTargets: 3');
    expectRefusal(await bench.run('cleanup', '--apply', planId), '4 targets are more than the 3');
  });

  test('G6: by the run itself, where it has become too old while it waited for a worker', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    const { runId } = runSchema.parse(await bench.json('cleanup', '--apply', planId));
    await bench.configure('  planMaxAgeHours: 0.000001');
    const ending = await bench.run('runs', 'retry', runId, '--inline');
    expect(ending.stdout).toContain('Failed: plan ');
    expect(ending.code).toBe(1);
    expect(bench.server.state.deletions()).toEqual([]);
  });

  test('G6: by a worker that speaks to another service', async () => {
    await using bench = await cleanupBench();
    await using other = await cleanupBench();
    const { runId } = runSchema.parse(await bench.json('cleanup', '--apply', await bench.plan()));
    const ending = await bench.run('runs', 'retry', runId, '--inline', '--service-url', other.server.url);
    expect(ending.stdout).toContain('is of another service');
    expect([...other.server.state.deletions(), ...bench.server.state.deletions()]).toEqual([]);
  });
});

test('a plan whose targets cannot be looked at once more is not begun, and may be applied later', async () => {
  await using bench = await cleanupBench();
  const planId = await bench.plan();
  bench.server.state.setOptions({ down: true });
  const ending = await bench.run('cleanup', '--apply', planId, '--inline');
  expect(ending.stderr).toContain('Nothing was deleted: the plan was not begun.');
  expect(ending.code).toBe(5);
  bench.server.state.setOptions({ down: false });
  expect((await bench.run('cleanup', '--apply', planId, '--inline')).stdout).toContain('4 targets = 4 deleted');
});

describe('at a terminal', () => {
  test.each([['5\n'], ['yes\n'], ['\n'], ['\u0003'], ['']])(
    'G6: nothing is deleted unless the number of targets is typed: %j',
    async (typed) => {
      await using bench = await cleanupBench();
      const { stderr, code } = await bench.runAtTerminal(typed, 'cleanup', '--apply', await bench.plan(), '--inline');
      expect(stderr).toContain('delete 4 targets at ');
      expect(stderr).toContain('Type the number of targets to delete: ');
      expect(code).toBe(4);
      expect(bench.server.state.deletions()).toEqual([]);
    },
  );

  test('the number of targets confirms, and --yes goes without the question', async () => {
    await using bench = await cleanupBench();
    const confirmed = await bench.runAtTerminal('4\n', 'cleanup', '--apply', await bench.plan(), '--inline');
    expect(confirmed.stdout).toContain('4 targets = 4 deleted');
    const unasked = await bench.runAtTerminal('', 'cleanup', '--apply', await bench.plan(), '--yes', '--inline');
    expect(unasked.stderr).not.toContain('Type the number');
    expect(unasked.stdout).toContain('4 targets = 0 deleted + 4 already gone');
  });
});

describe('a plan that is applied', () => {
  test('G2, G6: deletes exactly its targets, in order, by ids of any letters, and verifies what can be read', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    expect((await bench.run('cleanup', '--apply', planId, '--dry-run')).stdout).toContain(
      'Dry run: the plan may be applied.',
    );
    expect(bench.server.state.deletions()).toEqual([]);
    const { stdout, code } = await bench.run('cleanup', '--apply', planId, '--inline');
    expect(code).toBe(0);
    expect(stdout).toContain('It adds up: 4 targets = 4 deleted + 0 already gone + 0 refused + 0 failed');
    expect(stdout).toMatch(/^ {2}verified gone +2$/m);
    expect(stdout).toContain('micro strings and wellbores were not verified: the service documents no read');
    expect(deletedAt(bench.server.state.deletions())).toEqual(
      [
        ['time-series', equipment, 'a b'],
        ['time-series', equipment, 'ø/1'],
        ['micro-string', well, null],
        ['wellbore', well, null],
      ]
        .map((target) => JSON.stringify(target))
        .toSorted(),
    );
    const kinds = bench.server.state.deletions().map(({ kind }) => kind);
    expect(kinds).toEqual(['time-series', 'time-series', 'micro-string', 'wellbore']);
    expect((await bench.run('cleanup', 'show', planId)).stdout).toContain('Applied at ');
  });

  test('G6: has the intent of every deletion in the warehouse before its request', async () => {
    const unknown: string[] = [];
    let requests = 0;
    const intents =
      "SELECT count(*) FROM deletion_audit WHERE event = 'intent' AND (owner_id, coalesce(source_id, '')) = ";
    await using bench = await cleanupBench({
      async onRequest({ method, url, parameters: [owner = '', source = ''] }) {
        if (method !== 'DELETE') return undefined;
        requests += 1;
        const [[count] = []] = await bench.ask(`${intents} ('${owner}', '${source}')`);
        if (count === 0) unknown.push(url);
        return undefined;
      },
    });
    await bench.run('cleanup', '--apply', await bench.plan(), '--inline');
    expect(requests).toBe(4);
    expect(unknown).toEqual([]);
  });

  test('G6: has every deletion in the audit: who, when, what, by which plan, and the integer that came back', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    await bench.run('cleanup', '--apply', planId, '--inline');
    const all = await bench.json('audit', 'deletions', '--since', '2024-01-01');
    expect(all).toMatchObject([
      { kind: 'wellbores', owner_id: well, outcome: 'deleted', answer: 1, verification: 'no read', plan_id: planId },
      { kind: 'micro-strings', owner_id: well, outcome: 'deleted', answer: 2, service_url: bench.server.url },
      {
        kind: 'time-series',
        source_id: 'ø/1',
        outcome: 'deleted',
        verification: 'gone',
        requested_by: expect.any(String),
      },
      { kind: 'time-series', source_id: 'a b', outcome: 'deleted', answer: 1, noted_at: expect.stringMatching(/Z$/) },
    ]);
    expect(await bench.json('audit', 'deletions', '--target', well)).toHaveLength(2);
    expect(await bench.json('audit', 'deletions', '--since', '2999-01-01')).toEqual([]);
    const { stdout } = await bench.run('audit', 'deletions', '--csv');
    expect(stdout.trim().split('\n')).toHaveLength(5);
    expect((await bench.run('audit', 'verify')).stdout).toMatch(/^The audit is whole: 8 rows, .*\n  [0-9a-f]{64}\n$/);
  });

  test('takes deleted time series out of the warehouse into their history, and is no surprise to the next export', async () => {
    await using bench = await cleanupBench();
    const ofExport = ['export', 'time-series', '--equipment', equipment, '--inline'] as const;
    await bench.run(...ofExport);
    const planId = await bench.plan();
    await bench.run('cleanup', '--apply', planId, '--inline');
    const { applied } = appliedSchema.parse(await bench.json('cleanup', 'show', planId));
    const history = 'SELECT source_id, change, run_id FROM time_series_history ORDER BY source_id';
    const deleted = ['a b', 'ø/1'].map((sourceId) => [sourceId, 'deleted', applied.runId]);
    expect(await bench.ask(history)).toEqual(deleted);
    const again = await bench.run(...ofExport);
    expect(again.stdout).toContain('1 read = 0 inserted + 0 updated + 1 unchanged');
    expect(again.code).toBe(0);
    expect(await bench.ask(history)).toEqual(deleted);
    expect(await bench.ask('SELECT source_id FROM time_series')).toEqual([['spared']]);
  });

  test('counts what is gone already, and says by exit code 3 what was refused or is still there', async () => {
    await using bench = await cleanupBench();
    const csv = `${targetsCsv}\r\nmicro-strings,nowhere,,`;
    const planId = await bench.plan(csv);
    bench.server.state.setOptions({ forbiddenDeletions: [well], idleDeletions: [equipment] });
    const { stdout, code } = await bench.run('cleanup', '--apply', planId, '--inline');
    expect(code).toBe(3);
    expect(stdout).toContain('Done, with 2 targets refused and 2 targets still there.');
    expect(stdout).toContain('5 targets = 2 deleted + 1 already gone + 2 refused + 0 failed');
    expect(stdout).toMatch(/micro strings of well .* answered 403: .*this may not be deleted/);
    expect(stdout).toContain('not sent: the micro strings of the well, which go first, were refused');
    expect(stdout).toContain('is deleted, and shows it all the same');
    expect(await bench.json('audit', 'deletions', '--target', well)).toMatchObject([
      { kind: 'wellbores', outcome: 'refused', words: expect.stringContaining('not sent') },
      { kind: 'micro-strings', outcome: 'refused', words: expect.stringContaining('403') },
    ]);
  });

  test('fails targets that could not be deleted, keeps that in the audit, and takes them up again by runs retry', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    const { runId } = runSchema.parse(await bench.json('cleanup', '--apply', planId));
    bench.server.state.setOptions({ faults: { unavailable: 1 } });
    const ending = await bench.run('runs', 'retry', runId, '--inline');
    expect(ending.stdout).toContain('4 targets = 0 deleted + 0 already gone + 0 refused + 4 failed');
    expect(ending.stdout).toContain('Failed: 4 of 4 targets could not be deleted.');
    expect(ending.code).toBe(1);
    expect(await bench.json('audit', 'deletions')).toMatchObject(
      Array.from({ length: 4 }, () => ({ outcome: 'failed' })),
    );

    bench.server.state.setOptions({ faults: { unavailable: 0 } });
    // A 503 took no effect: what goes through now was deleted now.
    expect((await bench.run('runs', 'retry', runId, '--inline')).stdout).toContain(
      '4 targets = 4 deleted + 0 already gone',
    );
    expect(await bench.json('audit', 'verify')).toMatchObject({ intact: true });

    await bench.configure('  planMaxAgeHours: 0.000001');
    expectRefusal(await bench.run('runs', 'retry', runId), 'hours ago');
  });

  test('G1: whose answers were lost has targets that are already gone, not deleted twice', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    bench.server.state.setOptions({ faults: { resetAfterStoring: 1 }, unknownDelete: 'zero' });
    expect((await bench.run('cleanup', '--apply', planId, '--inline')).code).toBe(1);
    const [[runId] = []] = await bench.ask('SELECT run_id FROM run');
    bench.server.state.setOptions({ faults: { resetAfterStoring: 0 } });
    const retried = await bench.run('runs', 'retry', String(runId), '--inline');
    // The wellbores wait for the micro strings, of which nobody knew: they were asked for only now.
    expect(retried.stdout).toContain('4 targets = 1 deleted + 3 already gone + 0 refused + 0 failed');
  });

  test('stops at a token that is refused, and says so of every target', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    const { runId } = runSchema.parse(await bench.json('cleanup', '--apply', planId));
    bench.server.state.setOptions({ requiredToken: 'changed' });
    const { stdout, code } = await bench.run('runs', 'retry', runId, '--inline');
    expect(stdout).toContain('No token was sent: set service.tokenFile');
    expect(stdout).toContain('4 targets = 0 deleted + 0 already gone + 0 refused + 4 failed');
    expect(code).toBe(1);
  });
});

describe('a saved selection', () => {
  const selection = (caps: string): string => `  selections:\n    old: { file: targets.csv, ${caps} }`;

  test('is planned and applied in one run, and refuses when its own caps are passed', async () => {
    await using bench = await cleanupBench();
    await bench.home.write(
      'targets.csv',
      targetsCsv
        .split('\r\n')
        .filter((line) => !line.includes(well))
        .join('\n'),
    );
    const file = `${bench.home.folder}/targets.csv`;
    const saved = (caps: string): string => selection(caps).replace('targets.csv', file);
    await bench.configure(saved('maxTargets: 1, maxShareOfWellsPercent: 1'));
    const refused = await bench.run('cleanup', 'run', 'old', '--inline');
    expect(refused.stdout).toContain('2 targets are more than the 1 that one run may delete');
    expect(refused.code).toBe(1);
    expect(bench.server.state.deletions()).toEqual([]);

    await bench.configure(saved('maxTargets: 2, maxShareOfWellsPercent: 1'));
    expect((await bench.run('cleanup', 'run', 'old', '--dry-run')).stdout).toContain('Dry run');
    const done = await bench.run('cleanup', 'run', 'old', '--inline');
    expect(done.stdout).toContain('2 targets = 2 deleted');
    expect(await bench.json('cleanup', 'plans')).toMatchObject([{ selection: 'old', state: 'applied' }]);
  });

  test('is refused where nobody can say which share of the wells it is, where its name is not known, and without caps', async () => {
    await using bench = await cleanupBench();
    const file = await bench.home.write('targets.csv', targetsCsv);
    await bench.configure(selection('maxTargets: 9, maxShareOfWellsPercent: 100').replace('targets.csv', file));
    const { stdout } = await bench.run('cleanup', 'run', 'old', '--inline');
    expect(stdout).toContain('the warehouse knows no wells');
    expectRefusal(await bench.run('cleanup', 'run', 'odl'), 'saves no selection odl', 'Do you mean old?');
    await bench.configure(selection('maxTargets: 9'));
    expectRefusal(await bench.run('cleanup', 'run', 'old'), 'cleanup.selections.old.maxShareOfWellsPercent');
    expect(bench.server.state.deletions()).toEqual([]);
  });
});
