/** The inbox of a worker: what is dropped is worked once, and ends beside its report. */
import { appendFile, mkdir, readdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { InboxFolder } from '../../../src/files/inbox-folder.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { equipment, targetsCsv, well } from '../../support/cleanup-cli.ts';
import { inboxHome, inboxOf, workerHere } from '../../support/inbox-here.ts';
import { tenColumns } from '../../support/pipes.ts';

const row = (id: string, length = '[1]'): string => `N,${id},2024-01-01T00:00:00Z,A,B,true,"${length}",[2],[3],[4]`;
const fileText = (...rows: string[]): string => `${[tenColumns, ...rows].join('\n')}\n`;
const runOf = (report: unknown) =>
  z
    .object({ run: z.object({ runId: z.string(), state: z.string(), counts: z.record(z.string(), z.number()) }) })
    .parse(report).run;

describe('an inbox of network pipes', () => {
  test('G1: pushes a file once, gives its report and rejects beside it, and knows content that comes again', async () => {
    await using server = await startTestingServer({ rejectSourceIds: ['refused'] });
    await using home = await inboxHome(server.url);
    const inbox = inboxOf(home, 'network-pipes');
    await using worker = await workerHere(home);
    const text = fileText(row('P1'), row('wrong', '[-1]'), row('refused'));
    await inbox.drop('rejects.csv', text);
    const [first] = await inbox.endedAll('done', 1);
    expect(first?.names.toSorted()).toEqual(['rejected-rows.csv', 'rejects.csv']);
    expect(first?.report).toMatchObject({ state: 'done', file: 'rejects.csv', isAlreadyPushed: false });
    expect(runOf(first?.report)).toMatchObject({ state: 'done', counts: { rows: 3, accepted: 1, rejectedByUs: 1 } });
    const rejects = await readFile(path.join(first?.folder ?? '', 'rejected-rows.csv'), 'utf8');
    expect(rejects.trimEnd().split('\n')).toHaveLength(3);

    await inbox.drop('same content.csv', text);
    const [, second] = await inbox.endedAll('done', 2);
    expect(second?.report).toMatchObject({ state: 'done', isAlreadyPushed: true, rejects: 'rejects.csv' });
    expect(runOf(second?.report).runId).toBe(runOf(first?.report).runId);

    await inbox.drop('same content.again.csv', text);
    const [, , third] = await inbox.endedAll('done', 3);
    expect(third?.report).toMatchObject({ state: 'done', isAlreadyPushed: false });
    expect(runOf(third?.report).runId).not.toBe(runOf(first?.report).runId);
    const asked = await home.here(['query', 'SELECT DISTINCT actor FROM run', '--csv']);
    expect(asked.stdout).toMatch(/^actor\ninbox\/network-pipes@\S+\n$/);
    expect(worker.lines.join('')).not.toContain('"level":50');
  });

  test('G5: pushes later files after earlier ones, and a file that is at fault holds none up', async () => {
    await using server = await startTestingServer();
    await using home = await inboxHome(server.url);
    const inbox = inboxOf(home, 'network-pipes');
    await using worker = await workerHere(home);
    await mkdir(path.join(inbox.folder, 'a folder'));
    await symlink('/etc/passwd', path.join(inbox.folder, 'link.csv'));
    for (const version of [1, 2, 3, 4]) await inbox.drop(`${5 - version}.csv`, fileText(row('P', `[${version}]`)));
    await inbox.drop('wrong $(id)\u001B[31m.csv', 'no,header\n1,2\n');
    await inbox.drop('binary.csv', '\u0000\u0001');
    await inbox.endedAll('done', 4);
    const failed = await inbox.endedAll('failed', 2);
    expect(server.state.pipes().map(({ raw }) => raw)).toEqual([expect.stringContaining('"length":[4]')]);
    const [wrong] = failed;
    expect(wrong?.report).toMatchObject({ state: 'failed', file: 'wrong $(id)\\u001b[31m.csv' });
    expect(JSON.stringify(wrong?.report)).toMatch(/"error":\{"code":"usage"/);
    expect(JSON.stringify(wrong?.report)).not.toContain('working');
    expect(wrong?.names).toEqual(['wrong $(id)\u001B[31m.csv']);
    await expect.poll(() => worker.lines.join('')).toContain('it is a link: only a file itself is taken');
    expect(worker.lines.filter((line) => line.includes('a folder'))).toHaveLength(1);
  });

  test('a failed run ends its file in failed/, and the file can be dropped again', async () => {
    await using server = await startTestingServer({ requiredToken: 'needed' });
    await using home = await inboxHome(server.url);
    const inbox = inboxOf(home, 'network-pipes');
    await using _ = await workerHere(home);
    await inbox.drop('pipes.csv', fileText(row('P1')));
    const [failed] = await inbox.endedAll('failed', 1);
    expect(runOf(failed?.report).state).toBe('failed');
    server.state.setOptions({ requiredToken: null });
    await inbox.drop('pipes.csv', await readFile(path.join(failed?.folder ?? '', 'pipes.csv'), 'utf8'));
    await inbox.endedAll('done', 1);
    expect(server.state.pipes()).toHaveLength(1);
  });

  test('a file that grows and shrinks while it is written is taken once it rests', async () => {
    await using server = await startTestingServer();
    await using home = await inboxHome(server.url);
    const inbox = inboxOf(home, 'network-pipes');
    await using _ = await workerHere(home);
    const file = path.join(inbox.folder, 'slow.csv');
    const least = fileText(row('P0'));
    await writeFile(file, least);
    // Half the time for which a file must not change. One that is taken between two late steps is whole too.
    for (let step = 1; step <= 10 && (await readdir(inbox.folder)).includes('slow.csv'); step += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (step % 3 === 0) await truncate(file, least.length).catch(() => undefined);
      else if ((await readdir(inbox.folder)).includes('slow.csv')) await appendFile(file, `${row(`P${step}`)}\n`);
    }
    await inbox.endedAll('done', 1);
    const [ended] = await inbox.ended('done');
    const kept = await readFile(path.join(ended?.folder ?? '', 'slow.csv'), 'utf8');
    const rows = kept.trimEnd().split('\n').length - 1;
    expect(runOf(ended?.report).counts).toMatchObject({ rows, accepted: rows });
  });

  test('G1, G7: what a worker left that died is continued, with the run that it had begun', async () => {
    await using server = await startTestingServer();
    await using home = await inboxHome(server.url);
    const inbox = inboxOf(home, 'network-pipes');
    const folder = new InboxFolder(inbox.folder);
    await folder.open();
    for (const id of ['A', 'B', 'C']) await inbox.drop(`${id}.again.csv`, fileText(row(id)));
    const [begun, noted] = (await folder.poll()).arrivals;
    // One died before it had a run, one before it made the run that it had noted.
    if (begun !== undefined) await folder.claim(begun, Date.now() - 2_000);
    const claim = noted && (await folder.claim(noted, Date.now() - 1_000));
    if (claim !== undefined) await folder.record(claim, '20240101-000000-abcdef');
    {
      await using _ = await workerHere(home);
      const ended = await inbox.endedAll('done', 3);
      expect(ended.map(({ names }) => names[0])).toEqual(['A.again.csv', 'B.again.csv', 'C.again.csv']);
      expect(runOf(ended[1]?.report).runId).toBe('20240101-000000-abcdef');
    }
    const runs = await home.here(['query', 'SELECT count(*) AS runs FROM run', '--csv']);
    expect(runs.stdout).toBe('runs\n3\n');
    expect(await readdir(path.join(inbox.folder, 'working'))).toEqual([]);
  });
});

describe('an inbox of cleanups', () => {
  test('G6: a list makes a plan, deletes nothing, and a list at fault makes none', async () => {
    await using server = await startTestingServer({
      assets: { equipment: { [equipment]: [] }, wells: { [well]: { microStrings: 1, wellbores: 1 } } },
    });
    await using home = await inboxHome(server.url);
    const inbox = inboxOf(home, 'cleanup');
    await using _ = await workerHere(home);
    await inbox.drop('targets.csv', targetsCsv);
    const [done] = await inbox.endedAll('done', 1);
    const { plan, hint } = z.object({ plan: z.object({ planId: z.string() }), hint: z.string() }).parse(done?.report);
    expect(hint).toContain(`Plan ${plan.planId} waits for a person`);
    await inbox.drop('faulty.csv', `${targetsCsv}\npipes,${well},,`);
    const [failed] = await inbox.endedAll('failed', 1);
    expect(JSON.stringify(failed?.report)).toContain('faulty.csv has 1 row with a fault');
    expect(server.state.deletions()).toEqual([]);
    const plans = await home.here(['cleanup', 'plans', '--json']);
    expect(JSON.parse(plans.stdout)).toMatchObject([{ planId: plan.planId, state: 'planned' }]);
  });
});
