/** G9 without Redis: beside the process that works a warehouse no other one of its host sends a request to the service. */
import { symlink } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startConsoleOf } from '../support/console.ts';
import { data, field, sockets } from '../support/embedded-field.ts';

const [well = ''] = data.uwis;

test('G9: a probe, the doctor, plans and a server beside a worker send nothing by themselves', async () => {
  await using scene = await field({ latencyMs: 0 });
  const { home, server } = scene;
  server.state.setOptions({ requiredToken: 'of-the-worker' });
  // Refused, wherever a command sends a request.
  const env = { WELLSYNC_SERVICE_TOKEN: 'of-the-command' };
  const worker = home.start(['worker'], { env: { WELLSYNC_SERVICE_TOKEN: 'of-the-worker' } });
  await worker.hears('Working');
  const asked = {
    probe: ['probe', '--uwi', well],
    doctor: ['doctor', '--uwi', well],
    plan: ['cleanup', 'wellbores', '--well', well, '--include-producing', '--dry-run'],
  };
  for (const [name, args] of Object.entries(asked)) {
    const { code, stdout, stderr } = await home.here(args, { env });
    expect({ name, code, stdout }, stderr).toMatchObject({ name, code: 0 });
    if (name === 'doctor') expect(stdout).toContain('the token of the process that works the warehouse: accepted');
  }
  // What the worker asks is the service of the warehouse, and no other one.
  const other = await home.here(['probe', '--uwi', well, '--service-url', `${server.url}/other`], { env });
  expect({ code: other.code, stdout: other.stdout }, other.stderr).toEqual({ code: 2, stdout: '' });
  const doctor = await home.here(['doctor', '--service-url', `${server.url}/other`, '--uwi', well], { env });
  expect(doctor.stdout).not.toContain('answered for');
  // By another name of the same file, too.
  const link = path.join(home.folder, 'link.duckdb');
  await symlink(home.warehouseFile, link);
  const linked = await home.here([...asked.probe, '--warehouse', `duckdb:${link}`], { env });
  expect(linked.code, linked.stderr).toBe(0);
  await using served = await startConsoleOf(home);
  const json = { targets: [{ kind: 'wellbores', well }], includeProducing: true, dryRun: true };
  const plan = async (): Promise<unknown> => {
    const answer = await served.ask('/api/v1/plans', { json });
    return { status: answer.status, ...((await answer.json()) as object) };
  };
  expect(await plan()).toMatchObject({ status: 200 });

  worker.signal('SIGTERM');
  await worker.ended;
  const alone = await home.run(asked.probe, { env });
  expect(alone.stderr).toContain('answered 401');
  // The server has no token, and asks by itself now: two questions at once, under one claim.
  const refused = expect.objectContaining({ detail: expect.stringContaining('answered 401') as string }) as unknown;
  expect(await Promise.all([plan(), plan()])).toEqual([refused, refused]);
  server.state.setOptions({ requiredToken: null });
  expect(await plan()).toMatchObject({ status: 200 });
  expect(await sockets(home)).toEqual([]);
  const exported = await home.run(['export', 'daily-production', '--uwi', well]);
  expect(exported.code, exported.stderr).toBe(0);
  // Its own claim is over, and that of another keeps it from nothing.
  expect(await plan()).toMatchObject({ status: 200 });
  expect(await sockets(home)).toEqual([]);
});
