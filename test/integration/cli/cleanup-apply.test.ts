/** Applying plans: when it is allowed, the outcome of every target, and the audit. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../../config/load.ts';
import { createApp } from '../../../src/app/app.ts';
import { type CleanupBench, cleanupBench, equipment, targetsCsv, well } from '../../support/cleanup-cli.ts';
import { deletedAt } from '../../support/cleanup-field.ts';
import type { CommandResult } from '../../support/command-result.ts';

/** Longer than a group of intents waits for its last request (src/core/cleanup/outcome.ts). */
const slowAnswerMs = 300;

function expectRefusal(result: CommandResult, ...words: readonly string[]): void {
  for (const expected of words) expect(result.stderr).toContain(expected);
  expect(result.code).toBe(2);
}

const runSchema = z.object({ runId: z.string() });
const appliedSchema = z.object({ applied: runSchema });

describe('a plan is refused', () => {
  test('by the beginning of its id it is found, where that has four characters', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    const shown = await bench.run('cleanup', 'show', planId.slice(0, 4), '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({ planId });
    expectRefusal(await bench.run('cleanup', 'show', planId.slice(0, 3)), 'there is no plan');
  });

  test('G6: a mistyped plan id is refused, with the likely one', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    const mistyped = `${planId.slice(0, -1)}${planId.endsWith('0') ? '1' : '0'}`;
    expectRefusal(
      await bench.run('cleanup', '--yes', '--apply', mistyped),
      `there is no plan ${mistyped}`,
      `Do you mean ${planId}?`,
    );
    expectRefusal(await bench.run('cleanup', 'show', 'xxxx'), 'wellsync cleanup plans shows the plans');
  });

  test('G6: a plan that was applied, is too old, or is of another service is refused', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    await using other = await cleanupBench();
    const elsewhere = await bench.run('cleanup', '--yes', '--apply', planId, '--service-url', other.server.url);
    expectRefusal(
      elsewhere,
      `the warehouse belongs to the service ${bench.server.url}, and this is ${other.server.url}: nothing was started`,
    );
    await bench.configure('  planMaxAgeHours: 0.000001');
    expectRefusal(await bench.run('cleanup', '--yes', '--apply', planId), 'hours ago', 'make a new plan');
    await bench.configure('');
    expect(bench.server.state.deletions()).toEqual([]);
    expect((await bench.run('cleanup', '--yes', '--apply', planId, '--inline')).code).toBe(0);
    expectRefusal(
      await bench.run('cleanup', '--yes', '--apply', planId, '--inline'),
      `plan ${planId} was applied already`,
    );
  });

  test('G6: a plan is refused, with the differences, when the service shows other targets by now', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    Object.assign(bench.field.wells[well]?.body ?? {}, { status: 'PRODUCING' });
    bench.field.equipment[equipment]?.shift();
    expectRefusal(
      await bench.run('cleanup', '--yes', '--apply', planId, '--inline'),
      `wellbores of well ${well}: status was "ACTIVE", is "PRODUCING"`,
      `time series a b of equipment ${equipment}: was present, is absent`,
    );
    expect(bench.server.state.deletions()).toEqual([]);
  });

  test('G6: a plan above caps that were lowered since is refused', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    await bench.configure('  maxTargets: 3');
    expectRefusal(
      await bench.run('cleanup', '--yes', '--apply', planId),
      '4 targets are more than the 3',
      'made within 1,000 targets and 100 % of the wells, and this configuration goes by 3 targets and 100 % of the wells',
    );
  });

  test('G6: a run refuses a plan that became too old while it waited for a worker', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    const { runId } = runSchema.parse(await bench.json('cleanup', '--yes', '--apply', planId));
    await bench.configure('  planMaxAgeHours: 0.000001');
    const result = await bench.run('runs', 'retry', runId, '--yes', '--inline');
    expect(result.stdout).toContain('Failed: plan ');
    expect(result.code).toBe(1);
    expect(bench.server.state.deletions()).toEqual([]);
  });

  test('G6: a worker refuses a plan that is over its caps, where nobody has looked before', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    await bench.configure('  maxTargets: 3');
    const config = loadConfig({ environment: bench.home.env, file: `${bench.home.folder}/wellsync.yaml` });
    await using app = createApp(config);
    const runService = await app.runService();
    const params = { planId, checkedAtMs: Date.now(), requestedBy: 'nobody who looked' };
    const runId = await runService.start('cleanup', params, { actor: 'nobody who looked' });
    const result = await bench.run('runs', 'retry', runId, '--yes', '--inline');
    expect(result.stdout).toContain(`Failed: plan ${planId} exceeds the caps: nothing was deleted: 4 targets are more`);
    expect(result.stdout).toContain('the worker goes by 3 targets and 100 % of the wells: by another configuration');
    expect(result.stdout).toContain('Restart the worker');
    expect(result.code).toBe(1);
    expect(bench.server.state.deletions()).toEqual([]);
  });

  test('G6, G11: a worker of another service refuses a plan', async () => {
    await using bench = await cleanupBench();
    await using other = await cleanupBench();
    const { runId } = runSchema.parse(await bench.json('cleanup', '--yes', '--apply', await bench.plan()));
    const result = await bench.run('runs', 'retry', runId, '--yes', '--inline', '--service-url', other.server.url);
    expectRefusal(result, `the warehouse belongs to the service ${bench.server.url}, and this is ${other.server.url}`);
    expect([...other.server.state.deletions(), ...bench.server.state.deletions()]).toEqual([]);
  });
});

test('a plan whose targets cannot be looked at once more is not begun, and may be applied later', async () => {
  await using bench = await cleanupBench();
  const planId = await bench.plan();
  bench.server.state.setOptions({ down: true });
  const result = await bench.run('cleanup', '--yes', '--apply', planId, '--inline');
  expect(result.stderr).toContain('Nothing was deleted: the plan was not begun.');
  expect(result.code).toBe(5);
  bench.server.state.setOptions({ down: false });
  expect((await bench.run('cleanup', '--yes', '--apply', planId, '--inline')).stdout).toContain(
    '4 targets = 4 deleted',
  );
});

test('G6, G7: a cleanup that is cancelled before its run begins keeps its plan, and is applied by a retry', async () => {
  await using bench = await cleanupBench();
  const planId = await bench.plan();
  const { runId } = runSchema.parse(await bench.json('cleanup', '--yes', '--apply', planId));
  expect((await bench.run('cleanup', 'show', planId)).stdout).toContain(
    `Nothing was deleted by run ${runId}, which waits for a worker.`,
  );
  const cancelled = await bench.run('runs', 'cancel', runId);
  expect(cancelled.stdout).toContain(`Run ${runId} is cancelled before it was planned: nothing was done.`);
  const report = await bench.run('runs', 'show', runId);
  expect(report.stdout).toContain('Cancelled before it was planned: nothing was done.');
  expect(report.stdout).toContain(`wellsync runs retry ${runId}`);
  expect(report.stdout).not.toContain('0 targets');
  const shown = await bench.run('cleanup', 'show', planId);
  expect(shown.stdout).toContain(`Nothing was deleted by run ${runId}, which was cancelled before it was planned.`);
  expect(shown.stdout).not.toContain('Applied at');
  expect(await bench.json('cleanup', 'show', planId)).toMatchObject({ state: 'claimed', applied: { runId } });
  expect((await bench.run('cleanup', 'plans')).stdout).toMatch(/ claimed /);
  expectRefusal(
    await bench.run('cleanup', '--yes', '--apply', planId, '--inline'),
    `plan ${planId} belongs to run ${runId}, which was cancelled before it was planned: nothing was deleted`,
    `wellsync runs retry ${runId}`,
  );
  expect(bench.server.state.deletions()).toEqual([]);

  const retried = await bench.run('runs', 'retry', runId, '--yes', '--inline');
  expect(retried.stdout).toContain('4 targets = 4 deleted');
  expect((await bench.run('cleanup', 'show', planId)).stdout).toContain('Applied at ');
  expectRefusal(await bench.run('cleanup', '--yes', '--apply', planId), `plan ${planId} was applied already`);
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

describe('a retry of a cleanup', () => {
  /** A run that has deleted none of its four targets. */
  async function failedRun(bench: CleanupBench): Promise<string> {
    const { runId } = runSchema.parse(await bench.json('cleanup', '--yes', '--apply', await bench.plan()));
    bench.server.state.setOptions({ faults: { unavailable: 1 } });
    // The run has not ended: it is continued, as it was confirmed.
    expect((await bench.run('runs', 'retry', runId, '--inline')).code).toBe(1);
    bench.server.state.setOptions({ faults: { unavailable: 0 } });
    return runId;
  }

  test('G6: asks for the number of targets that are left, and for --yes where nobody can be asked', async () => {
    await using bench = await cleanupBench();
    const runId = await failedRun(bench);
    const before = bench.server.state.deletions().length;
    const unasked = await bench.run('runs', 'retry', runId, '--inline');
    expectRefusal(unasked, `this deletes the 4 targets that run ${runId} has not deleted`, 'Give --yes');
    for (const typed of ['3\n', '\n', '\u0003']) {
      const { stderr, code } = await bench.runAtTerminal(typed, 'runs', 'retry', runId, '--inline');
      expect([code, stderr]).toEqual([4, expect.stringContaining('Type the number of targets to delete: ')]);
    }
    expect(bench.server.state.deletions()).toHaveLength(before);
    expect(await bench.json('runs', 'show', runId)).toMatchObject({ state: 'failed' });
    const confirmed = await bench.runAtTerminal('4\n', 'runs', 'retry', runId, '--inline');
    expect(confirmed.stdout).toContain('4 targets = 4 deleted');
    const again = await bench.run('runs', 'retry', runId);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('nothing to retry')]);
  });

  test('G6: is in the audit with who retried', async () => {
    await using bench = await cleanupBench();
    const runId = await failedRun(bench);
    await bench.run('runs', 'retry', runId, '--yes', '--inline');
    const operator = expect.stringMatching(/@/) as unknown;
    const rows = Array.from({ length: 4 }, () => ({ outcome: 'deleted', retried_by: operator }));
    expect(await bench.json('audit', 'deletions')).toMatchObject(rows);
    expect((await bench.run('audit', 'deletions')).stdout).toContain('retried by');
    expect(await bench.json('audit', 'verify')).toMatchObject({ intact: true, retries: [{ by: operator, rows: 8 }] });
    expect((await bench.run('audit', 'verify')).stdout).toMatch(/^Of a retry by .*@.*: 8 rows\.$/m);
  });
});

describe('a plan that is applied', () => {
  test('G2, G6: a cleanup deletes exactly its targets, in order, by ids of any letters, and verifies those that can be read', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    expect((await bench.run('cleanup', '--yes', '--apply', planId, '--dry-run')).stdout).toContain(
      'Dry run: the plan may be applied.',
    );
    expect(bench.server.state.deletions()).toEqual([]);
    const { stdout, code } = await bench.run('cleanup', '--yes', '--apply', planId, '--inline');
    expect(code).toBe(0);
    expect(stdout).toContain('Reconciled: 4 targets = 4 deleted + 0 already gone + 0 refused + 0 failed');
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

  test('G6: a cleanup writes the intent of every deletion to the warehouse before its request', async () => {
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
    await bench.run('cleanup', '--yes', '--apply', await bench.plan(), '--inline');
    expect(requests).toBe(4);
    expect(unknown).toEqual([]);
  });

  test('G6: a cleanup at a slow service writes the intents of a chunk no sooner than their requests may be sent', async () => {
    const intents: unknown[] = [];
    await using bench = await cleanupBench({
      async onRequest({ method }) {
        if (method !== 'DELETE') return undefined;
        await delay(slowAnswerMs);
        intents.push((await bench.ask("SELECT count(*) FROM deletion_audit WHERE event = 'intent'"))[0]?.[0]);
        return undefined;
      },
    });
    const oneByOne = 'service: { concurrency: 1 }\ncleanup: { maxShareOfWellsPercent: 100 }\n';
    const file = await bench.home.write('one-by-one.yaml', oneByOne);
    await bench.run('cleanup', '--yes', '--apply', await bench.plan(), '--inline', '--config', file);
    // What a kill leaves without an intent was never sent: it is deleted later, and not already gone.
    expect(intents).toEqual([1, 2, 3, 4]);
  });

  test('G6: the audit of a cleanup has every deletion: who, when, what, by which plan, and the returned integer', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    await bench.run('cleanup', '--yes', '--apply', planId, '--inline');
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
    await bench.run('cleanup', '--yes', '--apply', planId, '--inline');
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
    const { stdout, code } = await bench.run('cleanup', '--yes', '--apply', planId, '--inline');
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
    const { runId } = runSchema.parse(await bench.json('cleanup', '--yes', '--apply', planId));
    bench.server.state.setOptions({ faults: { unavailable: 1 } });
    const result = await bench.run('runs', 'retry', runId, '--yes', '--inline');
    expect(result.stdout).toContain('4 targets = 0 deleted + 0 already gone + 0 refused + 4 failed');
    expect(result.stdout).toContain('Failed: 4 of 4 targets could not be deleted.');
    expect(result.code).toBe(1);
    expect(await bench.json('audit', 'deletions')).toMatchObject(
      Array.from({ length: 4 }, () => ({ outcome: 'failed' })),
    );

    bench.server.state.setOptions({ faults: { unavailable: 0 } });
    // A 503 has no effect: an accepted request now is a deletion now.
    expect((await bench.run('runs', 'retry', runId, '--yes', '--inline')).stdout).toContain(
      '4 targets = 4 deleted + 0 already gone',
    );
    expect(await bench.json('audit', 'verify')).toMatchObject({ intact: true });

    await bench.configure('  planMaxAgeHours: 0.000001');
    expectRefusal(await bench.run('runs', 'retry', runId, '--yes'), 'hours ago');
  });

  test('G1: a cleanup whose answers were lost reports targets as already gone, and deletes none twice', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    bench.server.state.setOptions({ faults: { resetAfterStoring: 1 }, unknownDelete: 'zero' });
    expect((await bench.run('cleanup', '--yes', '--apply', planId, '--inline')).code).toBe(1);
    const [[runId] = []] = await bench.ask('SELECT run_id FROM run');
    bench.server.state.setOptions({ faults: { resetAfterStoring: 0 } });
    const retried = await bench.run('runs', 'retry', String(runId), '--yes', '--inline');
    // The wellbores wait for the micro strings, whose outcome was unknown: they were requested only now.
    expect(retried.stdout).toContain('4 targets = 1 deleted + 3 already gone + 0 refused + 0 failed');
  });

  test('stops at a token that is refused, and says so of every target', async () => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    const { runId } = runSchema.parse(await bench.json('cleanup', '--yes', '--apply', planId));
    bench.server.state.setOptions({ requiredToken: 'changed' });
    const { stdout, code } = await bench.run('runs', 'retry', runId, '--yes', '--inline');
    expect(stdout).toContain('No token was sent: set service.tokenFile');
    expect(stdout).toContain('4 targets = 0 deleted + 0 already gone + 0 refused + 4 failed');
    expect(code).toBe(1);
  });
});
