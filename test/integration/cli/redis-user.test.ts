/** The user of docs/redis.md, with exactly the rights that stand there: every job runs, and nothing else may be done. */
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { generatedDaily } from '../../../src/testing-server/data/generated-daily.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { smallField, targetsCsv } from '../../support/cleanup-cli.ts';
import { cliHome } from '../../support/cli.ts';
import { pushedNetwork } from '../../support/pushed-network.ts';
import { privateRedisLack, startPrivateRedis } from '../../support/redis.ts';

const lack = privateRedisLack();
const password = 'right-and-long';

/** The rights of one server, as they stand in the document. */
const [rights = ''] =
  /ACL SETUSER wellsync on >PASSWORD resetkeys ~wellsync:.*/.exec(readFileSync('docs/redis.md', 'utf8')) ?? [];

const denied = [
  'FLUSHALL',
  'FLUSHDB',
  'KEYS *',
  'SCAN 0',
  'CONFIG GET maxmemory',
  'CONFIG SET maxmemory 1',
  'SHUTDOWN',
  'ACL LIST',
  'MONITOR',
  'REPLICAOF NO ONE',
  'SCRIPT FLUSH',
  'FUNCTION LIST',
  'CLIENT KILL TYPE normal',
  'GET other:key',
  'SET other:key 1',
];

const config = `
service: { retry: { attempts: 2, baseDelayMs: 5, maxDelayMs: 10 } }
cleanup: { maxShareOfWellsPercent: 100 }
`;

/** Commands that Redis refused a user for want of a right. */
async function refusedCommands(operator: Redis): Promise<readonly string[]> {
  const entries = (await operator.call('ACL', 'LOG')) as ReadonlyArray<readonly string[]>;
  return entries.map((entry) => `${entry[entry.indexOf('context') + 1]} ${entry[entry.indexOf('object') + 1]}`);
}

test.skipIf(lack !== undefined)(
  'G10: a user of Redis with the rights of docs/redis.md does every job, and nothing else',
  async () => {
    await using redis = await startPrivateRedis({ appendonly: false });
    const operator = new Redis(redis.url);
    await operator.call('ACL', ...rights.replace('ACL ', '').replace('PASSWORD', password).split(' '));
    const url = redis.url.replace('//', `//wellsync:${password}@`);

    const data = generatedDaily({ seed: 7, wells: 2, fromDay: '2026-01-01', toDay: '2026-02-01' });
    const [uwi = ''] = data.uwis;
    await using server = await startTestingServer({ data, assets: smallField() });
    await using home = await cliHome(server.url, { redisUrl: url, config });
    const env = { WELLSYNC_QUEUE_PREFIX: 'wellsync' };
    const done = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await home.here([...args, '--json'], { env });
      expect(code, stderr).toBe(0);
      return JSON.parse(stdout) as unknown;
    };
    const network = pushedNetwork({ rows: 60, wrong: 0, refused: 0, repeated: 3 });
    const worker = home.start(['worker'], { env });
    await worker.hears('Working');
    await done('export', 'daily-production', '--uwi', uwi, '--wait');
    await done('push', 'network-pipes', await home.write('pipes.csv', network.text), '--wait');
    const planned = await done('cleanup', '--file', await home.write('targets.csv', targetsCsv));
    const { planId } = z.object({ planId: z.string() }).parse(planned);
    await done('cleanup', '--yes', '--apply', planId, '--wait');
    await done('service', 'release');
    await done('doctor', '--uwi', uwi);
    worker.signal('SIGTERM');
    expect((await worker.ended).code).toBe(0);
    expect(await refusedCommands(operator)).toEqual([]);

    const user = new Redis(url);
    for (const each of denied) {
      const [name = '', ...rest] = each.split(' ');
      await expect(user.call(name, ...rest), each).rejects.toThrow('NOPERM');
    }
    await expect(user.eval("return redis.call('GET', 'other:key')", 0)).rejects.toThrow(/permission|can't access|ACL/i);
    user.disconnect();
    operator.disconnect();
  },
);
