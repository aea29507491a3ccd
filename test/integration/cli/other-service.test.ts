/** Two services, one of them with a worker: work for one must never reach the other. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generatedDaily } from '../../../src/testing-server/data/generated-daily.ts';
import { startTestingServer, type TestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';

const pipes = 'sourceNetworkId,sourceId\nn,p1\nn,p2\n';

describe('a command for service B, where a worker of service A works', () => {
  let [serviceA, serviceB]: TestingServer[] = [];
  let home: CliHome;
  let uwi: string;
  const askedOf = (server: TestingServer | undefined): number => server?.state.requests().total ?? 0;

  beforeAll(async () => {
    const data = generatedDaily({ seed: 3, wells: 2, fromDay: '2025-01-01', toDay: '2025-02-01' });
    [serviceA, serviceB] = [await startTestingServer({ data }), await startTestingServer({ data })];
    home = await cliHome(serviceA.url);
    [uwi = ''] = serviceA.state.describe().wells;
    await home.start(['worker']).hears('Working');
  });
  afterAll(async () => {
    await home[Symbol.asyncDispose]();
    await serviceA?.[Symbol.asyncDispose]();
    await serviceB?.[Symbol.asyncDispose]();
  });

  it('G11: runs at A where A is requested, and its report names service and warehouse', async () => {
    const ended = await home.run(['export', 'daily-production', '--uwi', uwi, '--wait', '--json']);
    expect(ended.code, ended.stderr).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      state: 'done',
      service: serviceA?.url,
      warehouse: `duckdb:${home.warehouseFile}`,
    });
    const listed = await home.here(['runs', 'list', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { service: serviceA?.url, warehouse: `duckdb:${home.warehouseFile}` },
    ]);
    const shown = await home.here(['runs', 'list']);
    expect(shown.stdout).toContain(`Service ${serviceA?.url}, warehouse duckdb:${home.warehouseFile}.`);
  });

  it.each(['push', 'export'])(
    'G11: ends a %s with exit 2 and both addresses, and sends nothing to either',
    async (what) => {
      const file = await home.write('pipes.csv', pipes);
      const words = what === 'push' ? ['network-pipes', file] : ['daily-production', '--uwi', uwi];
      const before = [askedOf(serviceA), askedOf(serviceB)];
      const runs = await home.here(['runs', 'list', '--json']);
      for (const how of ['--wait', '--inline']) {
        const ended = await home.here([what, ...words, how, '--service-url', serviceB?.url ?? '']);
        expect(ended.code, ended.stderr).toBe(2);
        expect(ended.stderr).toContain(serviceA?.url);
        expect(ended.stderr).toContain(serviceB?.url);
      }
      expect([askedOf(serviceA), askedOf(serviceB)]).toEqual(before);
      expect((await home.here(['runs', 'list', '--json'])).stdout).toBe(runs.stdout);
    },
  );

  it('G11: waits for a worker of B where B has a warehouse of its own, under the same prefix', async () => {
    const warehouse = `duckdb:${home.folder}/b.duckdb`;
    const before = askedOf(serviceA);
    const atB = ['--service-url', serviceB?.url ?? '', '--warehouse', warehouse];
    const queued = await home.here(['export', 'daily-production', '--uwi', uwi, ...atB, '--json']);
    expect(JSON.parse(queued.stdout)).toMatchObject({ state: 'queued', isAttended: false });
    const { runId } = JSON.parse(queued.stdout) as { runId: string };
    const worker = home.start(['worker', ...atB]);
    const ended = await home.here(['runs', 'show', runId, '--wait', ...atB, '--json']);
    expect(JSON.parse(ended.stdout)).toMatchObject({ state: 'done', service: serviceB?.url, warehouse });
    expect(askedOf(serviceA)).toBe(before);
    expect(askedOf(serviceB)).toBeGreaterThan(0);
    worker.signal('SIGTERM');
    expect((await worker.ended).code).toBe(0);
  });

  it('G11: neither probes nor plans at B, nor starts a worker of B', async () => {
    const atB = ['--service-url', serviceB?.url ?? ''];
    const words = [
      ['probe', '--uwi', uwi],
      ['cleanup', 'wellbores', '--well', uwi],
    ];
    for (const each of words) expect((await home.here([...each, ...atB])).code).toBe(2);
    const worker = await home.run(['worker', ...atB]);
    expect(worker.code, worker.stderr).toBe(2);
    expect(worker.stderr).toContain(serviceA?.url);
  });

  it('G11: plans no export of B by what the warehouse has of A', async () => {
    for (const flag of ['--dry-run', '--gaps']) {
      const words = ['export', 'daily-production', '--uwi', uwi, '--dry-run', flag];
      expect((await home.here(words)).code).toBe(0);
      const ended = await home.here([...words, '--service-url', serviceB?.url ?? '']);
      expect(ended.code, ended.stdout).toBe(2);
      expect(ended.stderr).toContain(serviceA?.url);
      expect(ended.stderr).toContain(serviceB?.url);
    }
  });
});
