/**
 * A storm: an installation at work, over a service that holds the truth, while its processes, its servers and its bytes are
 * disturbed; then a quiet time, in which all that was begun must end; and then what it left, for the checker.
 */
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Redis } from 'ioredis';
import { peakMegabytes } from '../support/process-tree.ts';
import { atNode } from '../support/redis-topologies.ts';
import { smallDisk, smallDiskLack } from '../support/small-disk.ts';
import { Started } from '../support/started.ts';
import { act } from './acts.ts';
import { Clients } from './clients.ts';
import { disturb, type Disturbed, freeTrapped } from './disturbances.ts';
import type { Evidence, FeedReading, StormEvent } from './evidence.ts';
import { install, type Installation, newToken, settings } from './installation.ts';
import { acts, type ActKind, detailOf, type DisturbanceKind, type Plan, type Planned } from './plan.ts';
import { Service } from './processes.ts';
import { type Servers, startServers } from './servers.ts';
import { createRandom, type Random } from './service/random.ts';
import { type AlertWatch, filesBelow, leaksIn, readFeed, watchAlerts } from './watchers.ts';
import { dumpDuckdb, dumpPostgres, type Tables } from './world/tables.ts';

/** Commands at one time: more than these the machine of a storm has no room for. */
const mostClients = 6;
/** Rare acts find room beside them. */
const mostWithRare = 9;
const rareActs: readonly ActKind[] = ['cleanup', 'cancel', 'release', 'prune', 'verify'];
const mutationEveryMs = 250;
const definitionChangeEveryMs = 4_000;
const atWorkRequests = 10;
/** Of each service's log. */
const mostLogBytes = 1_000_000;
/** In which another queue has to have the warehouse. */
const takeoverMs = 180_000;
/** In which all runs have to end. */
const endingMs = 240_000;

/** Plays a plan; what it left. `report` is given a line for what is worth knowing. Throws Error where the first load fails. */
export async function storm(plan: Plan, report: (line: string) => void): Promise<Evidence> {
  await using started = new Started();
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-storm-'));
  started.use({ [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) });
  const disk = plan.warehouse === 'duckdb' && smallDiskLack() === undefined ? smallDisk(400) : null;
  if (disk !== null) started.use({ [Symbol.asyncDispose]: async () => disk[Symbol.dispose]() });
  const servers = started.use(await startServers(plan));
  const alerts = started.use(await watchAlerts());
  const dataFolder = disk?.folder ?? path.join(folder, 'host');
  await mkdir(dataFolder, { recursive: true });
  const installation = await install(servers, folder, { dataFolder, alertsUrl: alerts.url });
  const play = new Play(plan, servers, installation, report);
  started.use({ [Symbol.asyncDispose]: () => play.endAll() });
  return await play.whole(disk, alerts);
}

class Play {
  readonly #plan: Plan;
  readonly #servers: Servers;
  readonly #installation: Installation;
  readonly #report: (line: string) => void;
  readonly #clients: Clients;
  readonly #events: StormEvent[] = [];
  readonly #feed: FeedReading[] = [];
  readonly #peakMb: Record<string, number> = {};
  readonly #droppedActs: Record<string, number> = {};
  readonly #unfinished = new Set<Promise<unknown>>();
  #services: readonly Service[];
  #takingOver: Promise<void> = Promise.resolve();
  /** Stopped when their queue lost the warehouse. */
  #left: readonly Service[] = [];

  constructor(plan: Plan, servers: Servers, installation: Installation, report: (line: string) => void) {
    this.#plan = plan;
    this.#servers = servers;
    this.#installation = installation;
    this.#report = report;
    this.#clients = new Clients(installation);
    this.#services = this.#servicesOf('');
  }

  async whole(disk: Disturbed['disk'], alerts: AlertWatch): Promise<Evidence> {
    await this.#setUp();
    const begunMs = Date.now();
    const on: Disturbed = {
      installation: this.#installation,
      servers: this.#servers,
      alerts,
      services: () => this.#services,
      disk,
      note: (event) => this.#note(event),
      takeOver: (random) => (this.#takingOver = this.#takeOver(random)),
    };
    const world = this.#keepWorldMoving();
    for (const planned of this.#plan.events) {
      await delay(Math.max(0, begunMs + planned.atMs - Date.now()));
      this.#begin(planned, on);
    }
    await delay(Math.max(0, begunMs + this.#plan.lengthMs - Date.now()));
    await this.#calm(on);
    alerts.refuses = false;
    const calmMs = Date.now();
    this.#report(`calm after ${seconds(begunMs)} s: ${this.#clients.calls.length} calls so far`);
    await delay(this.#plan.quietMs / 3);
    await this.#killAtWork();
    await delay(Math.max(0, calmMs + this.#plan.quietMs - Date.now()));
    world.end();
    await Promise.all(this.#unfinished);
    await this.#allEnd();
    this.#report(`all runs have ended after ${seconds(begunMs)} s`);
    await this.#readAll();
    const endedMs = Date.now();
    this.#report(`all wells are read after ${seconds(begunMs)} s`);
    const redisLeaks = await this.#leaksWhileUp(alerts.said());
    await this.endAll();
    this.#report(`all processes have ended after ${seconds(begunMs)} s`);
    const tables = await (this.#servers.postgres === null
      ? dumpDuckdb(this.#installation.warehouseFile)
      : dumpPostgres(this.#servers.postgres.directUrl));
    const leaks = [...redisLeaks, ...(await this.#leaksIn({ tables: [JSON.stringify(tables)] }))];
    const { service } = this.#servers;
    return {
      seed: this.#plan.seed,
      minutes: this.#plan.lengthMs / 60_000,
      warehouse: this.#plan.warehouse,
      queue: this.#plan.queue,
      clockOffsetMs: this.#plan.clockOffsetMs,
      begunMs,
      calmMs,
      endedMs,
      settings,
      service: service.log(),
      truth: service.truth.all(),
      tables,
      calls: this.#clients.calls,
      droppedActs: this.#droppedActs,
      events: this.#events.toSorted((a, b) => a.atMs - b.atMs),
      alerts: alerts.sent,
      feed: this.#feed,
      leaks,
      peakMb: this.#peakMb,
      logs: await logsOf(this.#installation.logs),
      copyFaults: await this.#copy(tables),
      leftovers: await this.#leftovers(),
    };
  }

  /** The first load, by a worker and a server, undisturbed. */
  async #setUp(): Promise<void> {
    for (const service of this.#services) service.start();
    const first = await this.#clients.run(['export', 'daily-production', '--wait']);
    await this.#clients.run(['export', 'time-series', '--wait']);
    if (first.code !== 0 && first.code !== 3) {
      throw new Error(`the first export ended with ${first.code}: ${this.#clients.said.slice(-4).join('\n')}`);
    }
  }

  /** An embedded queue is worked by one process, with another that waits for it; Redis takes workers of several hosts. */
  #servicesOf(suffix: string): readonly Service[] {
    const { queue, warehouse, clockOffsetMs } = this.#plan;
    const workers = queue === 'embedded' ? 1 : warehouse === 'duckdb' ? 2 : 3;
    const note = (event: StormEvent): void => this.#note(event);
    return [
      ...Array.from({ length: workers }, (_, index) => {
        const name = `worker-${index + 1}${suffix}`;
        const env = this.#installation.hostEnv(name, index === 1 ? clockOffsetMs : 0);
        return new Service(this.#installation, { name, args: ['worker'], env }, note);
      }),
      new Service(
        this.#installation,
        { name: `serve${suffix}`, args: ['serve'], env: this.#installation.hostEnv('serve', 0) },
        note,
      ),
    ];
  }

  #note(event: StormEvent): void {
    this.#events.push(event);
  }

  #begin(planned: Planned, on: Disturbed): void {
    const random = detailOf(this.#plan, planned);
    const isAct = acts.includes(planned.kind as ActKind);
    const most = rareActs.includes(planned.kind as ActKind) ? mostWithRare : mostClients;
    if (isAct && this.#clients.running >= most) {
      this.#droppedActs[planned.kind] = (this.#droppedActs[planned.kind] ?? 0) + 1;
      return;
    }
    const working = isAct
      ? act(planned.kind as ActKind, this.#actingOn(), random, planned.no)
      : disturb(planned.kind as DisturbanceKind, on, random);
    const kept = working
      .catch((error: unknown) => this.#report(`${planned.kind} ${planned.no}: ${String(error)}`))
      .finally(() => this.#unfinished.delete(kept));
    this.#unfinished.add(kept);
  }

  #actingOn() {
    return { installation: this.#installation, service: this.#servers.service, clients: this.#clients };
  }

  /** Records change, and the feed is read, as long as it is not ended. */
  #keepWorldMoving(): { end(): void } {
    const { service } = this.#servers;
    const mutating = setInterval(() => service.mutate(), mutationEveryMs);
    const redefining = setInterval(() => service.changeDefinition(), definitionChangeEveryMs);
    const reading = setInterval(() => void this.#readFeed(), 5_000);
    const measuring = setInterval(() => this.#measureMemory(), 2_000);
    return {
      end() {
        for (const each of [mutating, redefining, reading, measuring]) clearInterval(each);
      },
    };
  }

  #measureMemory(): void {
    for (const { name, pids } of this.#services) {
      const [program] = pids;
      if (program !== undefined) this.#peakMb[name] = Math.max(this.#peakMb[name] ?? 0, peakMegabytes(program));
    }
  }

  async #readFeed(): Promise<void> {
    const reading = await readFeed(this.#installation.feed);
    if (reading !== undefined) this.#feed.push(reading);
  }

  /** Ends every fault, brings back what was stopped, and lets nothing more happen. */
  async #calm({ disk }: Disturbed): Promise<void> {
    const { proxies, service } = this.#servers;
    for (const proxy of Object.values(proxies)) await proxy.calm();
    await Promise.race([Promise.allSettled(this.#unfinished), delay(20_000)]);
    for (const proxy of Object.values(proxies)) await proxy.calm();
    await service.calm();
    disk?.empty();
    await rm(this.#installation.trap, { force: true });
    await freeTrapped(this.#installation.trap);
    await newToken(this.#installation, service.newToken());
    await this.#takingOver;
    for (const each of [...this.#services, ...this.#left]) each.goOn();
    this.#clients.isCalm = true;
    for (const name of ['minutely', 'definitions']) await this.#clients.run(['schedules', 'resume', name]);
  }

  /** All processes are killed within an export, while nothing else is away. */
  async #killAtWork(): Promise<void> {
    const random = createRandom(this.#plan.seed).fork('kill at work');
    const { service } = this.#servers;
    const reads = (): number => service.log().requests.filter(({ endpoint }) => endpoint === 'daily').length;
    const before = reads();
    // The command may wait for its run, or work it.
    const asked = this.#clients.run(['export', 'daily-production', '--from', settings.historyFrom, '--to', tomorrow()]);
    this.#unfinished.add(asked);
    const untilMs = Date.now() + 10_000;
    while (reads() - before < atWorkRequests && Date.now() < untilMs) await delay(50);
    const isAtWork = reads() - before >= atWorkRequests;
    if (!isAtWork) this.#report('the kill at work found no export that asks the service');
    await delay(random.integer(0, 1_000));
    for (const each of this.#services) {
      const atMs = Date.now();
      const detail = { which: 'all', isAll: true, isAtWork };
      if (each.kill('all')) this.#note({ atMs, kind: 'kill', at: each.name, detail });
    }
  }

  /** Waits until the ledger has no run that has not ended. */
  async #allEnd(): Promise<void> {
    const untilMs = Date.now() + endingMs;
    for (;;) {
      // Ticks would begin runs for ever.
      for (const name of ['minutely', 'definitions']) await this.#clients.run(['schedules', 'pause', name]);
      const listed = await this.#clients.run(['runs', 'list', '--limit', '500']);
      const runs = (Array.isArray(listed.document) ? listed.document : []) as ReadonlyArray<{
        readonly runId: string;
        readonly state: string;
        readonly finishedAt: string | null;
      }>;
      const open = runs.filter(({ finishedAt }) => finishedAt === null);
      if (Array.isArray(listed.document) && open.length === 0) return;
      if (Date.now() > untilMs) {
        this.#report(
          `${open.length} runs did not end: ${open.map(({ runId, state }) => `${runId} ${state}`).join(', ')}`,
        );
        return;
      }
      await delay(2_000);
    }
  }

  /** A whole and verified read of every well, to compare with. */
  async #readAll(): Promise<void> {
    for (const job of ['daily-production', 'time-series', 'wells']) {
      const days = job === 'daily-production' ? ['--from', settings.historyFrom, '--to', tomorrow()] : [];
      const { code, document } = await this.#clients.run(['export', job, ...days, '--wait']);
      if (code !== 0 && code !== 3)
        this.#report(`the last export ${job} ended with ${code}: ${JSON.stringify(document)}`);
    }
    await this.#clients.run(['feed', 'publish']);
    await this.#readFeed();
  }

  /** Another queue takes the warehouse, while a worker of the old one stands still; that one goes on later. */
  async #takeOver(random: Random): Promise<void> {
    const old = this.#services;
    const atMs = Date.now();
    const still = random.pick(old.filter(({ name }) => name.startsWith('worker')));
    still.pause();
    still.abandon();
    for (const each of old) if (each !== still) each.kill('all');
    await Promise.all(old.filter((each) => each !== still).map((each) => each.end(5_000)));
    const { postgres } = this.#servers;
    const untilMs = Date.now() + takeoverMs;
    let epoch = await postgres?.epoch();
    for (; epoch === undefined && Date.now() < untilMs; epoch = await postgres?.epoch()) await delay(500);
    await this.#installation.takeOver();
    this.#left = [...this.#left, still];
    this.#services = this.#servicesOf('-b');
    for (const each of this.#services) each.start();
    // Its beat has to end before: a worker that goes on earlier keeps the warehouse, and has a right to.
    const isTaken = async (): Promise<boolean> => ((await postgres?.epoch()) ?? 0) > (epoch ?? Infinity);
    let taken = await isTaken();
    for (; !taken && Date.now() < untilMs; taken = await isTaken()) await delay(500);
    await delay(random.integer(0, 10_000));
    still.goOn();
    this.#note({ atMs, untilMs: Date.now(), kind: 'takeover', at: 'queue', detail: { still: still.name, taken } });
  }

  async #leaksWhileUp(alertTexts: readonly string[]): Promise<Evidence['leaks']> {
    const { logs, dataDir, inbox, feed } = this.#installation;
    // Each host has a data folder of its own, beside that of the commands.
    const files = (await Promise.all([logs, path.dirname(dataDir), inbox, feed].map(filesBelow))).flat();
    files.push(...[...this.#servers.store.objects.values()].map(({ file }) => file));
    const texts = { commands: this.#clients.said, alerts: alertTexts };
    const redis = this.#servers.redis;
    if (redis === null) return this.#leaksIn(texts, files);
    return atNode({ url: await redis.url() }, (client) => this.#leaksIn(texts, files, client));
  }

  #leaksIn(
    texts: Readonly<Record<string, readonly string[]>>,
    files: readonly string[] = [],
    redis: Redis | null = null,
  ): Promise<Evidence['leaks']> {
    const secrets = [...this.#installation.secrets, ...this.#servers.service.tokens()];
    return leaksIn(secrets, { files, texts, redis });
  }

  /** Copies the warehouse, with a kill in the middle, and compares the copy with it. */
  async #copy(tables: Tables): Promise<readonly string[]> {
    const { postgres } = this.#servers;
    const { folder, warehouseUrl } = this.#installation;
    const file = path.join(folder, 'copy.duckdb');
    const to = postgres === null ? `duckdb:${file}` : await postgres.another('copy');
    const words = ['warehouse', 'copy', warehouseUrl, to];
    const killAfterMs = createRandom(this.#plan.seed).fork('copy').integer(500, 4_000);
    const first = await this.#clients.run(words, { killAfterMs });
    const { code, document } = first.code === 0 ? first : await this.#clients.run(words);
    if (code !== 0) return [`the copy ended with ${code}: ${JSON.stringify(document)}`];
    const copy = await (postgres === null ? dumpDuckdb(file) : dumpPostgres(to));
    const names = [...new Set([...Object.keys(tables), ...Object.keys(copy)])];
    return names
      .filter((name) => !isDeepStrictEqual(copied(name, tables), copied(name, copy)))
      .map((name) => `${name} differs`);
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#services, ...this.#left].map((each) => each.end(10_000)));
  }

  /** Temporary files, and processes of the installation that are still there. */
  async #leftovers(): Promise<readonly string[]> {
    const temporary = await filesBelow(this.#installation.env['TMPDIR'] ?? '');
    const orphans: string[] = [];
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
      if (environment.includes(`STORM_TRAP=${this.#installation.trap}`)) orphans.push(`process ${pid} is still there`);
    }
    return [...temporary.map((file) => `${path.basename(file)} in the temporary folder`), ...orphans];
  }
}

/** Of processes at work, which a copy does not have; and the wells whose alerts are to be made, which are all of a copy. */
const uncopied = [
  'queue_beat',
  'queue_state',
  'writer_turn',
  'internal.read_begun',
  'internal.kept_read',
  'check_change',
];

/** What a copy has of a table: who works the warehouse, and when its tables were made, is its own. */
function copied(name: string, tables: Tables): readonly unknown[] {
  const rows = uncopied.includes(name) ? [] : (tables[name] ?? []);
  if (name === 'schema_version') return rows.map(({ version }) => version);
  if (name !== 'warehouse') return rows;
  return rows.map(({ warehouse_id: id, service, time_zone: zone, rate_basis: basis }) => [id, service, zone, basis]);
}

function seconds(sinceMs: number): number {
  return Math.round((Date.now() - sinceMs) / 1_000);
}

async function logsOf(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(folder);
  const texts = await Promise.all(names.map((name) => readFile(path.join(folder, name), 'utf8')));
  return Object.fromEntries(names.map((name, index) => [name, texts[index]?.slice(-mostLogBytes) ?? '']));
}

function tomorrow(): string {
  return new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
}
