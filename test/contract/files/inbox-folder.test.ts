/** The folder of an inbox: claims by rename, names of any bytes, and what a process leaves that dies between two steps. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { OutageError } from '../../../src/core/base/errors.ts';
import { type Claim, InboxFolder } from '../../../src/files/inbox-folder.ts';
import { smallDisk, smallDiskLack } from '../../support/small-disk.ts';

const minuteMs = 60_000;

async function inboxHere() {
  const root = await mkdtemp(path.join(tmpdir(), 'wellsync-inbox-'));
  const inbox = new InboxFolder(root);
  await inbox.open();
  return {
    root,
    inbox,
    drop: (name: string | Buffer, text = 'x'): void =>
      writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name)]), text),
    /** Takes the only file that was dropped. */
    take: async (): Promise<Claim> => {
      const [arrival] = (await inbox.poll()).arrivals;
      const claim = arrival && (await inbox.claim(arrival, Date.now()));
      if (claim === undefined) throw new Error('nothing was taken');
      return claim;
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true }),
  };
}

const endedIn = (root: string, end: string): readonly Buffer[] =>
  readdirSync(path.join(root, end)).flatMap((id) => readdirSync(path.join(root, end, id), { encoding: 'buffer' }));

describe('a file in an inbox', () => {
  test('G1: is taken by one of many processes that see it at once', async () => {
    await using here = await inboxHere();
    const others = [here.inbox, new InboxFolder(here.root), new InboxFolder(here.root)];
    for (let file = 0; file < 20; file += 1) here.drop(`${file}.csv`);
    const { arrivals } = await here.inbox.poll();
    const claims = await Promise.all(
      arrivals.flatMap((arrival) => others.map((inbox) => inbox.claim(arrival, Date.now()))),
    );
    const taken = claims.filter((claim) => claim !== undefined);
    expect(taken.map(({ shownName }) => shownName).toSorted()).toEqual(
      arrivals.map(({ shownName }) => shownName).toSorted(),
    );
    expect(await here.inbox.claims(Date.now())).toHaveLength(20);
    expect((await here.inbox.poll()).arrivals).toEqual([]);
  });

  test.each([
    ['hostile to a shell', Buffer.from('$(touch owned);`id`\'"|& *?\\ .csv')],
    ['with a line end and an escape', Buffer.from('a\nb\u001B[31mc.csv')],
    ['that is not UTF-8', Buffer.from([0xff, 0xfe, 0xe6, 0x2e, 0x63, 0x73, 0x76])],
    ['of 255 bytes', Buffer.from(`${'å'.repeat(125)}x.csv`)],
    ['that begins with a dash', Buffer.from('-rf.csv')],
    ['like a path of ours', Buffer.from('input.csv')],
  ])('with a name %s ends under that very name', async (_, name) => {
    await using here = await inboxHere();
    here.drop(name, 'content');
    const claim = await here.take();
    expect(claim.shownName).not.toMatch(/\p{Cc}/u);
    expect(path.basename(claim.file)).toBe('input.csv');
    expect(readFileSync(claim.file, 'utf8')).toBe('content');
    await here.inbox.writeReport(claim, { state: 'done' });
    await here.inbox.end(claim, 'done');
    const ended = endedIn(here.root, 'done').map((each) => each.toString('hex'));
    expect(ended.toSorted()).toEqual([name, Buffer.from('report.json')].map((each) => each.toString('hex')).toSorted());
  });

  test('is taken in the order of arrival, whatever its time says', async () => {
    await using here = await inboxHere();
    for (const [place, name] of ['b.csv', 'a.csv', 'c.csv'].entries()) {
      here.drop(`.${name}`);
      utimesSync(path.join(here.root, `.${name}`), 1_000 - place, 1_000 - place);
      renameSync(path.join(here.root, `.${name}`), path.join(here.root, name));
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    const { arrivals } = await here.inbox.poll();
    expect(arrivals.map(({ shownName }) => shownName)).toEqual(['b.csv', 'a.csv', 'c.csv']);
  });

  test('that is a link, a folder, a socket or a pipe is left alone, and told', async () => {
    await using here = await inboxHere();
    symlinkSync('/etc/passwd', path.join(here.root, 'link.csv'));
    mkdirSync(path.join(here.root, 'folder.csv'));
    execFileSync('mkfifo', [path.join(here.root, 'pipe.csv')]);
    const socket = createServer().listen(path.join(here.root, 'socket.csv'));
    here.drop('notes.txt');
    here.drop('.hidden.csv');
    try {
      const { arrivals, ignored } = await here.inbox.poll();
      expect(arrivals).toEqual([]);
      expect(Object.fromEntries(ignored.map(({ shownName, reason }) => [shownName, reason]))).toEqual({
        'link.csv': 'it is a link: only a file itself is taken',
        'folder.csv': 'it is a folder',
        'pipe.csv': 'it is no regular file',
        'socket.csv': 'it is no regular file',
        'notes.txt': 'its name does not end in .csv or .csv.gz',
      });
    } finally {
      socket.close();
    }
  });

  test('that becomes a link while it is taken is never read', async () => {
    await using here = await inboxHere();
    here.drop('pipes.csv');
    const [arrival] = (await here.inbox.poll()).arrivals;
    await rm(path.join(here.root, 'pipes.csv'));
    symlinkSync('/etc/passwd', path.join(here.root, 'pipes.csv'));
    const claim = arrival && (await here.inbox.claim(arrival, Date.now()));
    expect(claim).toMatchObject({ shownName: 'pipes.csv', sighting: undefined });
  });
});

describe('a claim', () => {
  test('G7: is found by another process with its name and its run, wherever the first one died', async () => {
    await using here = await inboxHere();
    here.drop('pipes.csv');
    const claim = await here.take();
    const another = new InboxFolder(here.root);
    const found = async (): Promise<unknown> => (await another.claims(Date.now()))[0];
    expect(await found()).toMatchObject({ shownName: 'pipes.csv', end: undefined, settled: claim.sighting });
    await here.inbox.record(claim, 'run-7');
    expect(await found()).toMatchObject({ shownName: 'pipes.csv', runId: 'run-7', end: undefined });
    await here.inbox.writeReport(claim, { state: 'failed', file: '"state": "done"' });
    expect(await found()).toMatchObject({ shownName: 'pipes.csv', end: 'failed' });
    // Died between the renaming of the file and that of the folder.
    renameSync(claim.file, path.join(claim.folder, 'pipes.csv'));
    const [last] = await another.claims(Date.now());
    if (last !== undefined) await Promise.all([another.end(last, 'failed'), here.inbox.end(claim, 'failed')]);
    expect(endedIn(here.root, 'failed').map(String).toSorted()).toEqual(['pipes.csv', 'report.json']);
    expect(await found()).toBeUndefined();
  });

  test('of another warehouse forgets its run, and keeps its name', async () => {
    await using here = await inboxHere();
    here.drop('pipes.csv');
    await here.inbox.record(await here.take(), 'run-of-another');
    expect(await here.inbox.claims(Date.now())).toMatchObject([{ runId: 'run-of-another' }]);
    await here.inbox.forgetRuns();
    const [claim] = await here.inbox.claims(Date.now());
    expect(claim).toMatchObject({ shownName: 'pipes.csv' });
    expect(claim?.runId).toBeUndefined();
  });

  test('without a file is removed when it is old, and one that a lost answer has made is continued', async () => {
    await using here = await inboxHere();
    const working = path.join(here.root, 'working');
    mkdirSync(path.join(working, 'lost'));
    mkdirSync(path.join(working, 'late'));
    writeFileSync(path.join(working, 'late', 'input.csv'), 'x');
    expect(await here.inbox.claims(Date.now())).toMatchObject([{ id: 'late', shownName: 'input.csv' }]);
    expect(readdirSync(working)).toEqual(['late', 'lost']);
    expect(await here.inbox.claims(Date.now() + 2 * minuteMs)).toHaveLength(1);
    expect(readdirSync(working)).toEqual(['late']);
  });

  test.each(['no JSON', '{}', JSON.stringify({ nameBase64: Buffer.from('../../out.csv').toString('base64') })])(
    'whose note was replaced by %s never leads out of the inbox',
    async (note) => {
      await using here = await inboxHere();
      here.drop('pipes.csv');
      const { folder } = await here.take();
      writeFileSync(path.join(folder, 'claim.json'), note);
      expect(await here.inbox.claims(Date.now())).toMatchObject([{ shownName: 'input.csv' }]);
    },
  );
});

describe('the id of an inbox', () => {
  test('is the same for all that open it, and a damaged one is told', async () => {
    await using here = await inboxHere();
    const ids = await Promise.all([1, 2, 3].map(() => new InboxFolder(here.root).open()));
    expect(new Set(ids).size).toBe(1);
    writeFileSync(path.join(here.root, '.wellsync-inbox'), 'other');
    await expect(here.inbox.open()).rejects.toThrow('does not hold the id of an inbox');
  });
});

const lack = smallDiskLack();
describe.skipIf(lack !== undefined)(`a full disk${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
  test('G7: leaves a file where it was, and it is taken when there is room', async () => {
    using disk = smallDisk(1);
    const inbox = new InboxFolder(disk.folder);
    await inbox.open();
    writeFileSync(path.join(disk.folder, 'pipes.csv'), 'x');
    const [arrival] = (await inbox.poll()).arrivals;
    if (arrival === undefined) throw new Error('no file');
    disk.fill();
    await expect(inbox.claim(arrival, Date.now())).rejects.toThrow(OutageError);
    expect((await inbox.poll()).arrivals).toHaveLength(1);
    disk.empty();
    expect(await inbox.claim(arrival, Date.now())).toMatchObject({ shownName: 'pipes.csv' });
  });
});
