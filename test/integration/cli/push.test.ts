/** The push by the command line: files, standard input, dry runs, rejects, and the same file again. */
import { readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startTestingServer, type TestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { tenColumns } from '../../support/pipes.ts';

const push = (...args: string[]): string[] => ['push', 'network-pipes', ...args];
const row = (id: string, length = '[1]'): string => `N,${id},2024-01-01T00:00:00Z,A,B,true,"${length}",[2],[3],[4]`;
const fileText = (...rows: string[]): string => `${[tenColumns, ...rows].join('\n')}\n`;

const reportSchema = z.object({
  runId: z.string(),
  state: z.string(),
  exitCode: z.number(),
  counts: z.record(z.string(), z.number()),
  notices: z.array(z.string()),
});
const reportOf = (text: string) => reportSchema.parse(JSON.parse(text));

/** What every document of a push may hold. */
const documentSchema = z.object({
  state: z.string().optional(),
  counts: z.record(z.string(), z.number()).optional(),
  notices: z.array(z.string()).default([]),
});
const documentOf = (text: string) => documentSchema.parse(JSON.parse(text));

/** A file with an invalid row and a pipe that will be refused. */
const mixed = fileText(row('P1'), row('wrong', '[-1]'), row('refused'), row('P1', '[5]'));

async function spooled(home: CliHome): Promise<readonly string[]> {
  return readdirSync(home.folder).includes('spool') ? readdirSync(`${home.folder}/spool`) : [];
}

describe('push --inline', () => {
  test('sends what is good, tells what is not, and ends with 3', async () => {
    await using server = await startTestingServer({ rejectSourceIds: ['refused'] });
    await using home = await cliHome(server.url);
    const file = await home.write('pipes.csv', mixed);
    const { code, stdout } = await home.here(push(file, '--inline'));
    expect(stdout).toContain('Done, with 1 row rejected before sending and 1 row rejected by the service.');
    expect(stdout).toMatch(/^ {2}superseded +1 {2}not sent: a later row of the same pipe and date went instead$/m);
    expect(stdout).toContain(
      'Reconciled: 4 rows = 1 accepted + 1 superseded + 1 rejected before sending + 1 rejected by the service',
    );
    expect(stdout).toContain('rejected: line 3, column length: ');
    expect(stdout).toMatch(/wellsync runs rejects \S+ > rejects.csv/);
    expect(code).toBe(3);
    expect(server.state.pipes().map(({ raw }) => raw)).toEqual([expect.stringContaining('"length":[5]')]);
  });

  test('G2, G5: a push counts an unsent row as superseded, and a row replaced by a later request as accepted', async () => {
    await using server = await startTestingServer();
    await using home = await cliHome(server.url);
    const rows = [row('P1'), row('P2'), row('P3'), row('P1', '[2]'), row('P1', '[3]')];
    const file = await home.write('pipes.csv', fileText(...rows));
    const { stdout } = await home.here(push(file, '--chunk-items', '2', '--inline', '--json'));
    expect(reportOf(stdout).counts).toMatchObject({ rows: 5, accepted: 4, superseded: 1, pipes: 4 });
    const stored = new Map(server.state.pipes().map(({ sourceId, raw }) => [sourceId, raw]));
    expect(stored.size).toBe(3);
    expect(stored.get('P1')).toContain('"length":[3]');
  });

  test('gives rejects that can be mended and pushed as they are', async () => {
    await using server = await startTestingServer({ rejectSourceIds: ['refused'] });
    await using home = await cliHome(server.url);
    const { stdout } = await home.here(push(await home.write('pipes.csv', mixed), '--inline', '--json'));
    const { runId } = reportOf(stdout);
    const rejects = await home.here(['runs', 'rejects', runId]);
    expect(rejects.stdout).toContain(`reject_line,reject_column,reject_reason,${tenColumns}\n3,length,`);
    const where = await home.here(['runs', 'rejects', runId, '--path']);
    expect(where.stdout.trim()).toBe(`${home.folder}/rejects/${runId}.csv`);

    server.state.setOptions({ rejectSourceIds: [] });
    const mended = await home.write('mended.csv', rejects.stdout.replace('[-1]', '[1]'));
    const again = await home.here(push(mended, '--inline', '--json'));
    expect(reportOf(again.stdout)).toMatchObject({ state: 'done', exitCode: 0, counts: { rows: 2, accepted: 2 } });
    expect(server.state.pipes()).toHaveLength(3);
    const none = await home.here(['runs', 'rejects', reportOf(again.stdout).runId]);
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('rejected nothing') });
  });

  test('takes standard input and gzip, and keeps nothing of it when it has arrived', async () => {
    await using server = await startTestingServer();
    await using home = await cliHome(server.url);
    const { code } = await home.here(push('-', '--inline'), { stdin: gzipSync(fileText(row('P1'), row('P2'))) });
    expect(code).toBe(0);
    expect(server.state.pipes()).toHaveLength(2);
    expect(await spooled(home)).toEqual([]);
  });

  test('tells of the network where it is asked to', async () => {
    await using server = await startTestingServer();
    await using home = await cliHome(server.url);
    const file = await home.write('pipes.csv', fileText(row('P1'), row('P2').replace(',A,B,', ',C,C,')));
    const { stdout } = await home.here(push(file, '--inline', '--check-topology', '--json'));
    expect(reportOf(stdout).notices).toEqual(
      expect.arrayContaining(['the topology: 2 pipes, 3 nodes, 1 network', '1 pipe from a node to itself: N/P2']),
    );
  });

  test('reads as the configuration and the flags say', async () => {
    await using server = await startTestingServer();
    await using home = await cliHome(server.url);
    const config = await home.write(
      'wellsync.yaml',
      'push:\n  delimiter: ";"\n  aliases: { network: sourceNetworkId, pipe: sourceId }\n  limits: { length: { max: 10 } }\n',
    );
    const file = await home.write('pipes.csv', 'network;pipe;length;colour\nN;P1;-5;red\nN;P2;11;red\nN;P1;6;red\n');
    const flags = ['--long', '--ignore-unknown-columns', '--config', config, '--inline', '--json'];
    const { stdout } = await home.here(push(file, ...flags));
    expect(reportOf(stdout).counts).toMatchObject({ rows: 3, accepted: 1, superseded: 1, rejectedByUs: 1 });
    expect(reportOf(stdout).notices).toContain('unknown columns, ignored: colour');
  });
});

describe('a content that was pushed', () => {
  test('is not pushed again under whatever name, which is no error; --again insists', async () => {
    await using server = await startTestingServer();
    await using home = await cliHome(server.url);
    const text = fileText(row('P1'));
    const first = reportOf((await home.here(push(await home.write('a.csv', text), '--inline', '--json'))).stdout);
    const copy = await home.write('b.csv', text);
    const second = await home.here(push(copy, '--inline', '--json'));
    expect(JSON.parse(second.stdout)).toMatchObject({ runId: first.runId, state: 'already-pushed' });
    expect(second.code).toBe(0);
    const told = await home.here(push('-', '--wait'), { stdin: text });
    expect(told.stdout).toContain(`standard input has been pushed by run ${first.runId}, 2`);
    expect(await spooled(home)).toEqual([]);
    const packed = await home.here(push(await home.write('c.csv.gz', gzipSync(text)), '--inline'));
    expect(packed.stdout).toContain(`c.csv.gz has been pushed by run ${first.runId}, 2`);
    expect(server.state.requests().total).toBe(1);
    expect((await home.here(push(copy, '--inline', '--again'))).code).toBe(0);
    expect(server.state.requests().total).toBe(2);
  });
});

/** 40 pipes with five dates each, in the order of the pipes; their lengths are 1 to 5. */
const dated = fileText(
  ...Array.from({ length: 200 }, (_, index) => {
    const [pipe, version] = [Math.floor(index / 5) + 1, (index % 5) + 1];
    return `N,P${pipe},2024-0${version}-01T00:00:00+0000,A,B,true,[${version}],[1],[1],`;
  }),
);

describe('pipes with several dates', () => {
  const lengths = (server: TestingServer): readonly string[] =>
    server.state.pipes().map(({ raw }) => /"length":\[(\d)\]/.exec(raw)?.[1] ?? '');

  test.each([
    ['ids', 'unknown', 40, ['5'], 5],
    ['ids-and-date', 'unknown', 200, ['1', '2', '3', '4', '5'], 5],
    ['ids-and-date', 'with-date', 200, ['1', '2', '3', '4', '5'], 1],
  ] as const)(
    'G5: each date is sent, and a service that keys pipes by %s, with push.pipeIdentity %s, holds %i',
    async (pipeKey, pipeIdentity, held, all, requests) => {
      await using server = await startTestingServer({ pipeKey });
      await using home = await cliHome(server.url);
      const config = await home.write('pushing.yaml', `push: { pipeIdentity: ${pipeIdentity} }`);
      const file = await home.write('pipes.csv', dated);
      const { code, stdout } = await home.here([...push(file, '--inline', '--json'), '--config', config]);
      expect(code).toBe(0);
      const { counts, notices } = documentOf(stdout);
      expect(counts).toMatchObject({ rows: 200, accepted: 200, superseded: 0, pipesWithSeveralDates: 40, requests });
      expect(notices).toContainEqual(expect.stringMatching(/^40 pipes have several dates: /));
      expect(lengths(server)).toHaveLength(held);
      expect([...new Set(lengths(server))].toSorted()).toEqual(all);
      expect(server.state.pipes()[0]?.raw).toContain('-01T00:00:00+0000"');
    },
  );

  test('a file is pushed again when push.pipeIdentity changes, and known by each', async () => {
    await using server = await startTestingServer();
    await using home = await cliHome(server.url);
    const file = await home.write('pipes.csv', dated);
    const config = await home.write('pushing.yaml', 'push: { pipeIdentity: with-date }');
    const states: (string | undefined)[] = [];
    for (const rest of [[], ['--config', config], ['--config', config], []]) {
      const { stdout } = await home.here([...push(file, '--inline', '--json'), ...rest]);
      states.push(documentOf(stdout).state);
    }
    expect(states).toEqual(['done', 'done', 'already-pushed', 'already-pushed']);
  });

  test('a dry run tells of them, and how many requests they take', async () => {
    await using home = await cliHome();
    const file = await home.write('pipes.csv', dated);
    const { stdout } = await home.here(push(file, '--dry-run', '--json'));
    const { counts, notices } = documentOf(stdout);
    expect(counts).toMatchObject({ rows: 200, sendable: 200, superseded: 0, pipesWithSeveralDates: 40, requests: 5 });
    expect(notices).toContainEqual(expect.stringContaining('about 5 requests, since few pipes have many dates'));
  });

  test('many dates of one pipe are told of before they are pushed', async () => {
    await using server = await startTestingServer();
    await using home = await cliHome(server.url);
    const day = (n: number): string => new Date(Date.UTC(2000, 0, n)).toISOString();
    const file = await home.write(
      'pipes.csv',
      fileText(...Array.from({ length: 300 }, (_, n) => `N,P1,${day(n)},A,B,true,[${n}],[1],[1],`)),
    );
    const queued = await home.here(push(file));
    expect(queued.stdout + queued.stderr).toContain('push.pipeIdentity: with-date is quicker');
  });
});

describe('push --dry-run', () => {
  test('checks everything without service, Redis and warehouse, and sends nothing', async () => {
    await using home = await cliHome();
    const file = await home.write('pipes.csv', mixed);
    const nowhere = { env: { WELLSYNC_REDIS_URL: 'redis://127.0.0.1:1' } };
    const { code, stdout } = await home.here(push(file, '--dry-run', '--check-topology'), nowhere);
    expect(stdout).toContain('1 row would be rejected.');
    expect(stdout).toContain('Reconciled: 4 rows = 2 sendable + 1 superseded + 1 rejected before sending');
    expect(stdout).toContain(
      '1 pipe that stands there again under the same ids and date, of which the last row wins: N/P1',
    );
    expect(stdout).toMatch(new RegExp(`^Rejects: ${home.folder}/rejects/dry-run-\\d+\\.csv$`, 'm'));
    expect(code).toBe(3);
  });

  test('names the first few rejects, and how many more there are', async () => {
    await using home = await cliHome();
    const file = await home.write('pipes.csv', fileText(...Array.from({ length: 7 }, () => row('wrong', '[-1]'))));
    const { stdout } = await home.here(push(file, '--dry-run'));
    expect(stdout.match(/ {2}- rejected: line/g)).toHaveLength(5);
    expect(stdout).toContain('  - rejected: 2 more rows, each in the rejects file with its reason');
  });

  test('counts pipes whose lists differ in length, which some services refuse, and refuses none', async () => {
    await using home = await cliHome();
    const uneven = Array.from({ length: 12 }, (_, n) => row(`P${n}`, '[1,2]'));
    const file = await home.write('pipes.csv', fileText(row('even'), ...uneven));
    const { code, stdout } = await home.here(push(file, '--dry-run', '--json'));
    const { counts, notices } = documentOf(stdout);
    expect(counts).toMatchObject({ sendable: 13, rejectedByUs: 0 });
    expect(notices).toContainEqual(
      expect.stringMatching(
        /^12 pipes have lists of different length: N\/P0 \(line 3\), .*, …\. They are sent; some services demand four lists of equal length$/,
      ),
    );
    expect(code).toBe(0);
  });

  test('tells the same as JSON, and ends with 0 where every row can be sent', async () => {
    await using home = await cliHome();
    const { code, stdout } = await home.here(push('-', '--dry-run', '--json'), { stdin: fileText(row('P1')) });
    expect(JSON.parse(stdout)).toMatchObject({
      dryRun: true,
      rejectsFile: null,
      topology: null,
      counts: { sendable: 1 },
    });
    expect(code).toBe(0);
  });
});

describe('a file that cannot be read', () => {
  test.each([
    ['without a header', 'a,b\n1,2\n', 'has no header'],
    ['with columns that nobody knows', 'sourceNetworkId,sourceId,colour\nN,P,red\n', 'unknown column: colour'],
    ['in another encoding', Buffer.from(`${tenColumns}\nN,P`, 'utf16le'), 'is not UTF-8'],
    ['that is empty', '', 'is empty'],
    ['that is gzip cut short', gzipSync(`${tenColumns}\n${row('P1')}\n`).subarray(0, -9), 'cannot be unpacked'],
  ])('%s is refused before there is a run', async (_, content, words) => {
    await using home = await cliHome('http://127.0.0.1:1');
    const { code, stderr } = await home.here(push(await home.write('pipes.csv', content)));
    expect(stderr).toContain(words);
    expect(code).toBe(2);
  });

  test('behind its first rows is sent up to there, and told by line; no retry is offered, since it would end the same', async () => {
    await using server = await startTestingServer();
    await using home = await cliHome(server.url);
    const broken = Buffer.concat([Buffer.from(fileText(row('P1'))), Buffer.from([0x4e, 0xc5, 0x0a])]);
    const { code, stdout } = await home.here(push(await home.write('pipes.csv', broken), '--inline'));
    expect(stdout).toMatch(/^Failed: \S+pipes.csv is not UTF-8: byte 0xC5 on line 3/m);
    expect(stdout).toContain('Reconciled: 1 row = 1 accepted');
    expect(stdout).not.toContain('runs retry');
    expect(code).toBe(1);
  });

  test('that is not there is refused', async () => {
    await using home = await cliHome('http://127.0.0.1:1');
    expect(await home.here(push('nowhere.csv'))).toMatchObject({ code: 2, stderr: expect.stringContaining('no file') });
  });

  test('that is standard input without a byte is refused by that name', async () => {
    await using home = await cliHome('http://127.0.0.1:1');
    const { code, stderr } = await home.here(push('-'));
    expect(stderr).toContain('standard input is empty');
    expect(code).toBe(2);
    expect(await spooled(home)).toEqual([]);
  });

  test('that is a folder is refused, pushed or only looked at', async () => {
    await using home = await cliHome('http://127.0.0.1:1');
    expect(await home.here(push('.'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is a folder, no file'),
    });
    expect(await home.here(push('.', '--dry-run'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is a folder, no file'),
    });
  });

  test('of a run that is none of a push has no rejects', async () => {
    await using server = await startTestingServer({});
    await using home = await cliHome(server.url);
    const { stdout } = await home.here(['export', 'daily-production', '--uwi', 'W', '--json']);
    const { runId } = z.object({ runId: z.string() }).parse(JSON.parse(stdout));
    expect(await home.here(['runs', 'rejects', runId])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is no push'),
    });
  });
});

describe('push beside workers', () => {
  test('--wait follows the run that a worker of the queue push works; no other queue is needed', async () => {
    await using server = await startTestingServer();
    await using home = await cliHome(server.url);
    const worker = home.start(['worker', '--queues', 'push']);
    await worker.hears('Working push');
    const file = await home.write('pipes.csv', fileText(row('P1')));
    const { code, stdout, stderr } = await home.here(push(file, '--wait', '--json'));
    expect(reportOf(stdout)).toMatchObject({ state: 'done', counts: { accepted: 1 } });
    expect(stderr).not.toContain('No worker is running');
    expect(code).toBe(0);
    worker.signal('SIGTERM');
    await worker.ended;
  });

  test('a failed push goes on at its checkpoint by runs retry, and keeps its accounts', async () => {
    await using server = await startTestingServer({ requiredToken: 'secret' });
    await using home = await cliHome(server.url);
    const file = await home.write('pipes.csv', fileText(row('P1'), row('wrong', '[-1]')));
    const failed = await home.here(push(file, '--inline', '--json'));
    expect(reportOf(failed.stdout)).toMatchObject({ state: 'failed', exitCode: 1 });
    const shown = await home.here(['runs', 'show', reportOf(failed.stdout).runId]);
    expect(shown.stdout).toMatch(/^Failed: .*401/m);
    expect(shown.stdout).not.toContain('Files that failed');
    server.state.setOptions({ requiredToken: null });
    const retried = await home.here(['runs', 'retry', reportOf(failed.stdout).runId, '--inline', '--json']);
    expect(reportOf(retried.stdout)).toMatchObject({
      state: 'done',
      exitCode: 3,
      counts: { rows: 2, accepted: 1, rejectedByUs: 1 },
    });
  });
});
