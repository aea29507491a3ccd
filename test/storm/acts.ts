/** What the users of an installation do in a storm: each act by one of the ways in, drawn in detail by its number. */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CallOptions, Clients } from './clients.ts';
import { type Installation, quoted } from './installation.ts';
import type { ActKind } from './plan.ts';
import { equipmentIds, sourceWellIds, uwis } from './service/assets.ts';
import type { Random } from './service/random.ts';
import type { StormService } from './service/service.ts';

export interface ActingOn {
  readonly installation: Installation;
  readonly service: StormService;
  readonly clients: Clients;
}

type Act = (on: ActingOn, random: Random, no: number) => Promise<unknown>;

export function act(kind: ActKind, on: ActingOn, random: Random, no: number): Promise<unknown> {
  return acts[kind](on, random, no);
}

/** A producer is killed now and then, as by a host that goes down. */
function ending(random: Random): CallOptions {
  return random.chance(0.12) ? { killAfterMs: random.integer(200, 4_000) } : {};
}

/** A POST with a key; now and then sent a second time, after the first or beside it. */
async function askAgain(
  clients: Clients,
  random: Random,
  route: string,
  body: { readonly json?: unknown; readonly csv?: string; readonly key: string },
): Promise<void> {
  const first = clients.ask('POST', route, body);
  if (!random.chance(0.4)) return void (await first);
  if (random.chance(0.5)) await first;
  await Promise.all([first, clients.ask('POST', route, body)]);
}

/** What `runs held` says of a job: its holds, each with the run that a release names. */
interface Held {
  readonly parts?: ReadonlyArray<{ readonly runId: string }>;
}

/** How a command has its run worked. */
function way(random: Random): readonly string[] {
  return random.pick([[], [], [], ['--inline'], ['--wait']]);
}

function day(daysAgo: number): string {
  return new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
}

function someOf<T>(random: Random, all: readonly T[], most: number): readonly T[] {
  return random.shuffled(all).slice(0, random.integer(1, most));
}

const acts: Readonly<Record<ActKind, Act>> = {
  async export({ clients }, random, no) {
    const some = random.chance(0.5) ? [] : someOf(random, uwis, 6);
    const ago = random.integer(10, 120);
    const days =
      some.length > 0 && random.chance(0.5) ? { from: day(ago), to: day(ago - random.integer(3, 40)) } : undefined;
    const allowsShrink = random.chance(0.06);
    if (random.chance(0.25)) {
      await askAgain(clients, random, '/api/v1/runs', {
        key: `export-${no}`,
        json: {
          export: 'daily-production',
          ...(some.length > 0 ? { uwis: some } : {}),
          ...days,
          allowShrink: allowsShrink,
        },
      });
      return;
    }
    const words = ['export', 'daily-production', ...some.flatMap((uwi) => ['--uwi', uwi])];
    if (days !== undefined) words.push('--from', days.from, '--to', days.to);
    else if (some.length === 0 && random.chance(0.2)) words.push('--from-warehouse', '--gaps');
    else if (some.length === 0 && random.chance(0.4)) words.push('--skip-if-running');
    if (allowsShrink) words.push('--allow-shrink');
    await clients.run([...words, ...way(random)], ending(random));
  },

  async definitions({ clients }, random) {
    await clients.run(['export', random.pick(['time-series', 'wells']), ...way(random)], ending(random));
  },

  async push({ installation, clients }, random, no) {
    const csv = pipesOf(random);
    const again = random.chance(0.1);
    if (random.chance(0.3)) {
      const route = `/api/v1/pushes?name=pipes-${no}.csv${again ? '&again=true' : ''}`;
      await askAgain(clients, random, route, { key: `push-${no}`, csv });
      return;
    }
    const file = path.join(installation.drop, `pipes-${no}.csv`);
    await writeFile(file, csv);
    await clients.run(['push', 'network-pipes', file, ...(again ? ['--again'] : []), ...way(random)], {
      ...ending(random),
      pipesCsv: csv,
    });
  },

  async inbox({ installation, clients }, random, no) {
    const folder = path.join(installation.inbox, random.chance(0.8) ? 'network-pipes' : 'cleanup');
    await mkdir(folder, { recursive: true });
    const isOfPipes = folder.endsWith('network-pipes');
    const content = isOfPipes ? pipesOf(random) : 'kind,well,equipment,source_id\nwellbores,NOWHERE,,\n';
    const file = path.join(folder, `dropped-${no}`);
    await writeFile(file, content);
    await rename(file, `${file}.csv`);
    if (isOfPipes) clients.dropped(file, content);
  },

  async cleanup({ installation, service, clients }, random, no) {
    const rows = [
      ...someOf(random, sourceWellIds, 2).map((well) => [random.pick(['wellbores', 'micro-strings']), well, '', '']),
      ...someOf(random, equipmentIds, 2).flatMap((equipment) =>
        someOf(random, service.log().timeSeries[equipment] ?? [], 2).map(({ sourceId }) => [
          'time-series',
          '',
          equipment,
          String(sourceId),
        ]),
      ),
    ];
    const file = path.join(installation.drop, `targets-${no}.csv`);
    await writeFile(
      file,
      `kind,well,equipment,source_id\n${rows.map((row) => row.map(quoted).join(',')).join('\n')}\n`,
    );
    const planned = await clients.run(['cleanup', '--file', file, '--include-producing'], ending(random));
    const plan = planned.document as {
      readonly planId?: string;
      readonly counts?: { readonly targets: number };
    } | null;
    if (plan?.planId === undefined || random.chance(0.15)) return;
    await new Promise((resolve) => setTimeout(resolve, random.integer(0, 3_000)));
    if (random.chance(0.3)) {
      await clients.ask('POST', `/api/v1/plans/${plan.planId}/apply`, { json: { targets: plan.counts?.targets } });
    } else await clients.run(['cleanup', '--apply', plan.planId, '--yes', ...way(random)], ending(random));
  },

  async verify({ clients }, random) {
    const some = someOf(random, uwis, 3);
    await clients.run(['verify', ...some.flatMap((uwi) => ['--uwi', uwi]), ...way(random)], ending(random));
  },

  async cancel({ clients }, random) {
    const [run] = random.shuffled(clients.runIds.slice(-6));
    if (run === undefined) return;
    if (random.chance(0.5)) await clients.ask('POST', `/api/v1/runs/${run}/cancel`);
    else await clients.run(['runs', 'cancel', run, ...(random.chance(0.3) ? ['--wait'] : [])], ending(random));
  },

  async retry({ clients }, random) {
    const [run] = random.shuffled(clients.runIds.slice(-20));
    if (run === undefined) return;
    if (random.chance(0.4)) await clients.ask('POST', `/api/v1/runs/${run}/retry`);
    else await clients.run(['runs', 'retry', run, '--yes', ...way(random)], ending(random));
  },

  async release({ clients }, random) {
    const listed = await clients.run(['runs', 'held']);
    const held = Array.isArray(listed.document) ? (listed.document as readonly Held[]) : [];
    const run = random.shuffled(held.flatMap(({ parts = [] }) => parts))[0]?.runId;
    if (run !== undefined) await clients.run(['runs', 'release', run, '--yes', ...way(random)], ending(random));
  },

  async acknowledge({ clients }, random) {
    const listed = await clients.ask('GET', '/api/v1/alerts');
    const { alerts = [] } = (listed.document ?? {}) as { readonly alerts?: ReadonlyArray<{ readonly id: string }> };
    const some = random.shuffled(alerts).slice(0, 3);
    if (some.length === 0) return;
    const how = random.pick(['ack', 'ack', 'resolve']);
    await clients.run(['alerts', how, ...some.map(({ id }) => id), '--because', 'it is a storm'], ending(random));
  },

  async schedule({ clients }, random) {
    const name = random.pick(['minutely', 'definitions']);
    const what = random.pick(['trigger', 'pause', 'resume', 'resume']);
    await clients.run(['schedules', what, name], ending(random));
  },

  async publish({ clients }, random) {
    await clients.run(['feed', 'publish', ...(random.chance(0.3) ? ['--all'] : [])], ending(random));
  },

  async prune({ clients }, random) {
    await clients.run(['prune'], ending(random));
  },
};

/** Pipes are few, so that files meet in them; some rows are broken, and some repeat a pipe and date. */
function pipesOf(random: Random): string {
  const rows = Array.from({ length: random.integer(20, 120) }, () => {
    const list = (): string => `"[${random.integer(1, 9)}.5,${random.integer(1, 99)}]"`;
    const enabled = random.chance(0.02) ? 'perhaps' : String(random.chance(0.8));
    return [
      `N-${random.integer(1, 3)}`,
      `P-${random.integer(1, 150)}`,
      `2026-0${random.integer(1, 3)}-01T00:00:00Z`,
      `A-${random.integer(1, 50)}`,
      `B-${random.integer(1, 50)}`,
      enabled,
      list(),
      list(),
      list(),
      list(),
    ].join(',');
  });
  return `${pipeColumns}\n${rows.join('\n')}\n`;
}

const pipeColumns =
  'sourceNetworkId,sourceId,date,upstreamSourceId,downstreamSourceId,enabled,length,trueVerticalDepth,innerDiameter,roughness';
