/** Alerts of the state of an installation: while its warehouse cannot be written, and of a service that nobody asks. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../../config/load.ts';
import { freePort } from '../../../scripts/setup/private-redis.mjs';
import { AlertKeeper } from '../../../src/app/alerts/keeper.ts';
import { createApp } from '../../../src/app/app.ts';
import { queueAddressOf } from '../../../src/app/service/service-settings.ts';
import { limiterKeys } from '../../../src/queue/redis/limiter/fair-shares-script.ts';
import { limitsKey } from '../../../src/queue/redis/queue-names.ts';
import { OutageJournal } from '../../../src/runs/outage-journal.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { startReceiver } from '../../support/alert-receiver.ts';
import { type CliHome, cliHome } from '../../support/cli.ts';
import { startCuttingProxy } from '../../support/postgres/cutting-proxy.ts';
import { databaseOfRole, postgresLack } from '../../support/postgres/database.ts';
import { sharedRedisUrl } from '../../support/redis.ts';

const log = pino({ level: 'silent' });
const message = z.object({ id: z.string(), change: z.string(), kind: z.string(), message: z.string() });
const configOf = (url: string): string =>
  `alerts: { url: '${url}' }\nwarehouse: { lockWaitMs: 1000 }\nservice: { retry: { attempts: 1 } }\n`;

/** A process that looks, as often as it is asked to. `passed`: moves its clock on, in milliseconds. */
function observer(home: CliHome) {
  let passedMs = 0;
  const app = createApp(loadConfig({ environment: home.env }));
  const outages = new OutageJournal(log, () => performance.now() + passedMs);
  const keeper = new AlertKeeper(app, log, { role: 'serve', outages });
  return {
    app,
    passed: (ms: number) => void (passedMs += ms),
    observe: () => keeper.observe({ withWorkers: true }),
    send: () => keeper.send(),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

const listSchema = z.object({
  alerts: z.array(z.object({ kind: z.string(), state: z.string(), openedAt: z.string() })),
});
async function alertsOf(home: CliHome) {
  const states = ['open', 'acknowledged', 'resolved'].flatMap((state) => ['--state', state]);
  const { stdout } = await home.here(['alerts', 'list', ...states, '--json']);
  return listSchema.parse(JSON.parse(stdout)).alerts;
}

/** The circuit as it is when requests have failed since `forMs`. */
async function serviceDown(home: CliHome, forMs: number): Promise<AsyncDisposable & { close(): Promise<unknown> }> {
  const redis = new Redis(sharedRedisUrl());
  const { circuit } = limiterKeys(limitsKey(queueAddressOf(loadConfig({ environment: home.env }))));
  const sinceMs = Date.now() - forMs;
  const fields = { since: sinceMs, tryAt: sinceMs + 1_000, pause: 1_000, fault: 'nothing listens there' };
  await redis.hset(circuit, fields);
  return {
    close: () => redis.del(circuit),
    [Symbol.asyncDispose]: async () => void (await redis.quit()),
  };
}

interface Warehouse extends AsyncDisposable {
  readonly url?: string;
  leave(home: CliHome): Promise<void>;
  comeBack(home: CliHome): Promise<void>;
}

async function duckdb(): Promise<Warehouse> {
  return {
    leave: (home) => rename(home.warehouseFile, `${home.warehouseFile}.away`),
    comeBack: (home) => rename(`${home.warehouseFile}.away`, home.warehouseFile),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function postgres(): Promise<Warehouse> {
  const { url } = await databaseOfRole();
  const serverPort = Number(new URL(url).port);
  let proxy = await startCuttingProxy(serverPort);
  const { port } = proxy;
  return {
    url: url.replace(/:\d+\//, `:${port}/`),
    leave: async () => {
      await proxy[Symbol.asyncDispose]();
    },
    comeBack: async () => {
      proxy = await startCuttingProxy(serverPort, port);
    },
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]();
    },
  };
}

const lack = await postgresLack('newest');
const engines = [
  { name: 'duckdb', start: duckdb, isLacking: false },
  { name: 'postgres', start: postgres, isLacking: lack !== undefined },
];

for (const { name, start, isLacking } of engines) {
  describe.skipIf(isLacking)(
    `an alert while the warehouse cannot be written: ${name}${isLacking ? ` (${lack})` : ''}`,
    () => {
      async function scene() {
        const receiver = await startReceiver();
        const warehouse = await start();
        const home = await cliHome(`http://127.0.0.1:${await freePort()}`, {
          config: configOf(receiver.url),
          ...(warehouse.url === undefined ? {} : { warehouseUrl: warehouse.url }),
        });
        await using first = observer(home);
        await first.app.ledger.alerts.countOpen(Date.now());
        await first.app.ledger.alerts.observe([], { by: 'test', atMs: Date.now() });
        const told = () => receiver.calls.map(({ body }) => message.parse(JSON.parse(body)));
        const file = path.join(home.folder, 'unwritten-alerts.json');
        return {
          receiver,
          warehouse,
          home,
          told,
          file,
          kept: async () => JSON.parse(await readFile(file, 'utf8')) as readonly unknown[],
          [Symbol.asyncDispose]: async () => {
            await home[Symbol.asyncDispose]();
            await warehouse[Symbol.asyncDispose]();
            await receiver[Symbol.asyncDispose]();
          },
        };
      }

      test('is told at once, outlives its process, is written when it can be, and is told of once', async () => {
        await using given = await scene();
        const { warehouse, home, told, file } = given;
        await using service = await serviceDown(home, 120_000);
        await using one = observer(home);
        await one.observe();
        expect(told()).toEqual([]);
        await one.send();
        expect(told().map(({ change, kind }) => [change, kind])).toEqual([['opened', 'service-down']]);
        await service.close();

        await warehouse.leave(home);
        await using away = await serviceDown(home, 600_000);
        await one.observe();
        // The warehouse has it.
        expect(told()).toHaveLength(1);
        await one.observe();
        one.passed(61_000);
        await one.observe();
        await one.observe();
        const outages = told().filter(({ kind }) => kind === 'outage');
        expect(outages.map(({ change }) => change)).toEqual(['opened']);
        expect(outages[0]?.message).toMatch(/^1 part out of reach: .*: the warehouse: work waits: /);

        await warehouse.comeBack(home);
        await using later = observer(home);
        await later.observe();
        await later.send();
        await expect(readFile(file)).rejects.toThrow('ENOENT');
        const outage = (await alertsOf(home)).find(({ kind }) => kind === 'outage');
        expect(outage).toMatchObject({ state: 'resolved' });
        expect(
          told()
            .filter(({ kind }) => kind === 'outage')
            .map(({ change }) => change),
        ).toEqual(['opened', 'resolved']);
        expect(new Set(told().map(({ id }) => id)).size).toBe(told().length);
        await away.close();
      });

      test('waits in the file while the receiver is away too, and one that has ended is told as both', async () => {
        await using given = await scene();
        const { receiver, warehouse, home, told } = given;
        await using one = observer(home);
        await one.observe();
        await warehouse.leave(home);
        receiver.state.status = 503;
        await one.observe();
        one.passed(61_000);
        await using service = await serviceDown(home, 120_000);
        await one.observe();
        expect(await given.kept()).toMatchObject([{ kind: 'service-down' }, { kind: 'outage' }]);
        expect(JSON.stringify(await given.kept())).not.toContain('sentAtMs');
        receiver.calls.length = 0;
        receiver.state.status = 200;
        await one.observe();
        expect(told().map(({ change, kind }) => [change, kind])).toEqual([
          ['opened', 'service-down'],
          ['opened', 'outage'],
        ]);
        await one.observe();
        expect(told()).toHaveLength(2);
        await warehouse.comeBack(home);
        await one.observe();
        await one.observe();
        const states = (await alertsOf(home)).map(({ kind, state }) => [kind, state]);
        expect(states.toSorted(([left = ''], [right = '']) => left.localeCompare(right))).toEqual([
          ['outage', 'resolved'],
          ['service-down', 'open'],
        ]);
        await one.send();
        expect(
          told()
            .map(({ change, kind }) => [change, kind])
            .slice(2),
        ).toEqual([['resolved', 'outage']]);
        await service.close();
      });

      test('a file that cannot be understood is none', async () => {
        await using given = await scene();
        const { warehouse, home, file } = given;
        await writeFile(file, '[{"kind":');
        await using one = observer(home);
        await one.observe();
        await warehouse.leave(home);
        await using service = await serviceDown(home, 120_000);
        await one.observe();
        expect(await given.kept()).toMatchObject([{ kind: 'service-down' }]);
        await service.close();
      });
    },
  );
}

test('G9: a service that is down is asked again while nothing is queued, by one request, and only its answer resolves the alert', async () => {
  const port = await freePort();
  await using home = await cliHome(`http://127.0.0.1:${port}`, { config: 'service: { retry: { attempts: 1 } }\n' });
  await using service = await serviceDown(home, 120_000);
  await using one = observer(home);
  const stateOf = async () => (await alertsOf(home)).map(({ kind, state }) => `${kind} ${state}`);
  await one.observe();
  expect(await stateOf()).toEqual(['service-down open']);
  // Nobody knows of the outage any more: that does not make the service answer.
  await service.close();
  await using other = observer(home);
  await other.observe();
  expect(await stateOf()).toEqual(['service-down open']);

  await using server = await startTestingServer({ port });
  await using third = observer(home);
  await third.observe();
  expect(await stateOf()).toEqual(['service-down resolved']);
  expect(server.state.requests().total).toBe(1);
  await third.observe();
  expect(server.state.requests().total).toBe(1);
});

const night = ['export', 'daily-production', '--uwi', 'A', '--inline', '--json'];
const changesIn = ({ calls }: { readonly calls: ReadonlyArray<{ readonly body: string }> }) =>
  calls.map(({ body }) => message.parse(JSON.parse(body))).map(({ change, kind }) => `${change} ${kind}`);

test('a night that could not begin since its service is away is an alert, until one begins', async () => {
  await using receiver = await startReceiver();
  const port = await freePort();
  await using home = await cliHome(`http://127.0.0.1:${port}`, { config: configOf(receiver.url) });
  // Before the first run there is no night to lose.
  expect(await home.here(night)).toMatchObject({ code: 5 });
  expect(receiver.calls).toEqual([]);
  {
    await using server = await startTestingServer({ port });
    await home.here(night);
    expect(server.state.requests().total).toBeGreaterThan(0);
  }
  receiver.calls.length = 0;
  expect(await home.here(night)).toMatchObject({ code: 5 });
  expect(await home.here(night)).toMatchObject({ code: 5 });
  expect(changesIn(receiver)).toEqual(['opened service-down']);
  await using again = await startTestingServer({ port });
  expect(again.url).toContain(String(port));
  await home.here(night);
  expect(changesIn(receiver)).toEqual(['opened service-down', 'resolved service-down']);
});

test.skipIf(lack !== undefined)(
  `a night that could not begin since its warehouse is away is told of at once${lack === undefined ? '' : ` (${lack})`}`,
  async () => {
    await using receiver = await startReceiver();
    await using server = await startTestingServer();
    await using warehouse = await postgres();
    const { url } = warehouse;
    const config = configOf(receiver.url);
    await using home = await cliHome(server.url, { config, ...(url === undefined ? {} : { warehouseUrl: url }) });
    await home.here(night);
    receiver.calls.length = 0;
    await warehouse.leave(home);
    // What a process leaves behind is there for the commands after it.
    expect(await home.run(night)).toMatchObject({ code: 5, stdout: expect.stringContaining('warehouse-unreachable') });
    expect(await home.here(night)).toMatchObject({ code: 5 });
    expect(changesIn(receiver)).toEqual(['opened outage']);
    await warehouse.comeBack(home);
    await home.here(night);
    expect(changesIn(receiver)).toEqual(['opened outage', 'resolved outage']);
    const outages = (await alertsOf(home)).filter(({ kind }) => kind === 'outage');
    expect(outages).toMatchObject([{ state: 'resolved' }]);
  },
);
