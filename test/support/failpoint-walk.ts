/** A walk: a scene with something that happens at one of its steps, and the work taken on as an operator would. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startTestingServer, type TestingServer } from '../../src/testing-server/testing-server.ts';
import { aMinutePasses, askFile, type At, type Ended, keysOf, type Row, Runner } from './failpoint-process.ts';
import type { Place, Scene } from './failpoint-scenes.ts';
import { sharedRedisUrl } from './redis.ts';

const token = 'token-of-the-walk';
const settings = `
service: { id: walked, retry: { attempts: 2, baseDelayMs: 1, maxDelayMs: 2 } }
queue: { attempts: 2, baseDelayMs: 1, maxDelayMs: 2 }
worker: { graceMs: 5000 }
`;

/** Retries, and the same command again, before the work counts as stuck. */
const mostRounds = 6;
/** Killed; done; failed; with things left; somebody else works. */
const expectedCodes: readonly (number | null)[] = [null, 0, 1, 3, 5];

/** What a scene leaves, which has to be the same whatever happened. */
export interface Left {
  readonly tables: Readonly<Record<string, readonly Row[]>>;
  readonly outcome: unknown;
}

/** What was written when, and by which run, differs; a number of a read, too. */
const differing = `(?:inserted|changed|known|release)_run_id|run_id|.*_at|since|known_from|number|committed_no|window_to`;
const same = (table: string): string =>
  `SELECT COLUMNS(lambda name: NOT regexp_full_match(name, '${differing}')) FROM ${table} ORDER BY ALL`;
const tables = [
  'daily_production',
  'daily_production_history',
  'coverage',
  'quarantine',
  // Its instant is that of the run.
  '(SELECT * EXCLUDE watermark FROM watermark)',
  'well',
  'well_history',
  'time_series',
  'time_series_history',
  'unknown_target',
  '(SELECT "check", uwi, production_day, field, value, expected, severity FROM check_result)',
  'held_month',
  'held_definition',
  '(SELECT production_month FROM feed_month)',
  '(SELECT DISTINCT file_sha256, form FROM push WHERE completed_at IS NOT NULL)',
];

/** Each question's answer has to be empty. */
const faults: Readonly<Record<string, string>> = {
  'a unit is open': `SELECT * FROM run_unit WHERE state = 'open'`,
  'a run has not ended as done': `SELECT run_id, state, report FROM run WHERE state <> 'done'`,
  'a report is not balanced': `SELECT run_id, report FROM run WHERE (report->'balance'->>'balanced')::BOOLEAN IS DISTINCT FROM TRUE`,
  'a watermark is past every window that is done': `SELECT uwi FROM watermark w
    WHERE EXISTS (FROM run_unit u WHERE u.target = w.uwi) AND NOT EXISTS (
      FROM run_unit u WHERE u.target = w.uwi AND state IN ('done', 'held')
        AND (spec->>'toMs')::DOUBLE >= epoch_ms(w.watermark))`,
  'an instant has two versions of a row': `SELECT uwi, xid, known_from FROM daily_production_history GROUP BY ALL HAVING count(*) > 1`,
  'a row has two versions': `SELECT uwi, xid FROM daily_production GROUP BY ALL HAVING count(*) > 1`,
  // What failed may not have been begun, and is retried.
  'a deletion has two outcomes': `SELECT plan_id, unit FROM deletion_audit WHERE outcome <> 'failed' GROUP BY ALL HAVING count(*) > 1`,
  'a deletion has no intent before its outcome': `SELECT o.seq FROM deletion_audit o WHERE outcome <> 'failed' AND NOT EXISTS (
    FROM deletion_audit i WHERE i.plan_id = o.plan_id AND i.unit = o.unit AND i.event = 'intent' AND i.seq < o.seq)`,
  'an intent has no outcome': `SELECT i.seq FROM deletion_audit i WHERE event = 'intent' AND NOT EXISTS (
    FROM deletion_audit o WHERE o.plan_id = i.plan_id AND o.unit = i.unit AND o.event = 'outcome' AND o.seq > i.seq)`,
};

/** A folder that walks of a scene copy. */
export interface Prepared {
  readonly scene: Scene;
  readonly folder: string;
}

export class Lane {
  readonly #runner = new Runner();
  /** Beside a process that hangs or stands. */
  readonly #redis = new Redis(sharedRedisUrl());

  close(): void {
    this.#runner.close();
    this.#redis.disconnect();
  }

  async prepare(scene: Scene): Promise<Prepared> {
    const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-scene-'));
    await mkdir(path.join(folder, 'shared'));
    await writeFile(path.join(folder, 'wellsync.yaml'), `${settings}${scene.config ?? ''}`);
    if (scene.prepare !== undefined) {
      const walk = await this.#open({ scene, folder }, folder, scene.prepare);
      await walk[Symbol.asyncDispose]();
    }
    return { scene, folder };
  }

  /** Works the scene undisturbed. */
  async record(prepared: Prepared) {
    await using walk = await this.#open(prepared);
    const ended = await walk.work({ isRecorded: true });
    await walk.takeOn(ended);
    return { steps: ended.steps ?? [], existing: ended.existing ?? [], left: await walk.left() };
  }

  /** Returns what is wrong after all, and whether the step was met. */
  async walk(
    prepared: Prepared,
    at: At,
    undisturbed: Left,
  ): Promise<{ readonly isMet: boolean; readonly wrong: readonly string[] }> {
    let isMet = false;
    try {
      await using walk = await this.#open(prepared);
      const ended = await walk.work({ at });
      ({ isMet } = ended);
      if (!isMet) return { isMet, wrong: [] };
      await walk.takeOn(ended);
      return { isMet, wrong: await walk.wrong(undisturbed) };
    } catch (error) {
      return { isMet, wrong: [error instanceof Error ? (error.stack ?? error.message) : String(error)] };
    }
  }

  async #open(prepared: Prepared, into?: string, first = prepared.scene.begin): Promise<Walk> {
    const folder = into ?? (await mkdtemp(path.join(tmpdir(), 'wellsync-walk-')));
    if (into === undefined) await cp(prepared.folder, folder, { recursive: true });
    const server = await startTestingServer({ requiredToken: token, ...prepared.scene.service });
    const walk = new Walk(prepared.scene, {
      folder,
      server,
      runner: this.#runner,
      redis: this.#redis,
      isKept: into !== undefined,
    });
    await walk.begin(first);
    return walk;
  }
}

interface WalkParts {
  readonly folder: string;
  readonly server: TestingServer;
  readonly runner: Runner;
  readonly redis: Redis;
  readonly isKept: boolean;
}

class Walk implements Place, AsyncDisposable {
  readonly folder: string;
  readonly warehouse: string;
  readonly server: TestingServer;
  earlier: ReadonlySet<string> = new Set();
  id = '';
  readonly #scene: Scene;
  readonly #parts: WalkParts;
  readonly #prefix = `walk-${randomUUID()}`;
  readonly #environment: Readonly<Record<string, string>>;
  #said = '';

  constructor(scene: Scene, parts: WalkParts) {
    const { folder, server } = parts;
    this.#scene = scene;
    this.#parts = parts;
    this.folder = folder;
    this.server = server;
    this.warehouse = path.join(folder, 'warehouse.duckdb');
    this.#environment = {
      ...(scene.queue === 'embedded'
        ? {}
        : { WELLSYNC_REDIS_URL: sharedRedisUrl(), WELLSYNC_QUEUE_PREFIX: this.#prefix }),
      WELLSYNC_CONFIG: path.join(folder, 'wellsync.yaml'),
      WELLSYNC_DATA_DIR: folder,
      WELLSYNC_SERVICE_URL: server.url,
      WELLSYNC_SERVICE_TOKEN: token,
      ...scene.environment?.(folder),
    };
  }

  async begin(first: Scene['begin']): Promise<void> {
    this.earlier = new Set((await this.#runs()).map(({ id }) => id));
    await first?.(this);
  }

  async run(args: readonly string[], codes: readonly number[] = [0]): Promise<string> {
    const { code, stdout, stderr } = await this.#heard(
      this.#parts.runner.run({ args, environment: this.#environment }),
    );
    if (code === null || !codes.includes(code))
      throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  }

  /** The work of the scene, with what happens to it. */
  async work(how: { readonly at?: At; readonly isRecorded?: boolean } = {}): Promise<Ended> {
    const command = { args: this.#scene.args(this), environment: this.#environment, ...how };
    const ended = this.#heard(this.#parts.runner.run(command));
    if (this.#scene.kind !== 'worker') return ended;
    const end = ended.then(
      () => 'ended',
      () => 'ended',
    );
    const soon = (): Promise<unknown> => Promise.race([end, sleep(50)]);
    while ((await soon()) !== 'ended') {
      if ((await this.#scene.isDone?.(this)) !== true) continue;
      this.#parts.runner.stop();
      break;
    }
    return ended;
  }

  /** Goes on until all has ended; throws if it does not. */
  async takeOn(first: Ended): Promise<void> {
    let last = first;
    for (let round = 1; round <= mostRounds; round += 1) {
      if (!expectedCodes.includes(last.code)) throw new Error(`ended with ${last.code}: ${last.stderr}`);
      if (last.code === null) await aMinutePasses(this.#parts.redis, this.#prefix, this.folder);
      const args = await this.#next(last);
      if (args === undefined) return this.#scene.finish?.(this);
      await this.#scene.mend?.(this);
      const going =
        this.#scene.kind === 'worker' ? this.work() : this.#parts.runner.run({ args, environment: this.#environment });
      last = await this.#heard(going);
    }
    const left = JSON.stringify([last, await this.#runs()]);
    throw new Error(`the work does not come to its end: ${left}`);
  }

  async #next({ code }: Ended): Promise<readonly string[] | undefined> {
    const { kind = 'run' } = this.#scene;
    const again = this.#scene.args(this);
    if (kind === 'command') return code === 0 ? undefined : again;
    const runs = (await this.#runs()).filter(({ id }) => !this.earlier.has(id));
    if (kind === 'worker') return (await this.#isWhole()) ? undefined : again;
    if (runs.length === 0) return again;
    const open = runs.find(({ state }) => state !== 'done');
    if (open?.state === 'failed' && this.#scene.isRepeated === true) {
      return runs.some(({ state }) => state === 'done') ? undefined : again;
    }
    return open && ['runs', 'retry', open.id, '--inline', '--yes'];
  }

  async #isWhole(): Promise<boolean> {
    const failed = await readdir(path.join(this.folder, 'inbox', 'network-pipes', 'failed')).catch(() => []);
    return failed.length === 0 && (await this.#scene.isDone?.(this)) === true;
  }

  async #runs(): Promise<ReadonlyArray<{ readonly id: string; readonly state: string }>> {
    if (!existsSync(this.warehouse)) return [];
    const ask = `SELECT table_name FROM duckdb_tables() WHERE table_name = 'run'`;
    const [found = []] = await askFile(this.warehouse, [ask]);
    if (found.length === 0) return [];
    const [runs = []] = await askFile(this.warehouse, ['SELECT run_id, state FROM run ORDER BY run_id']);
    return runs.map((run) => ({ id: String(run['run_id']), state: String(run['state']) }));
  }

  async left(): Promise<Left> {
    const answers = await askFile(this.warehouse, tables.map(same));
    const named = tables.map((table, index) => [table, answers[index] ?? []] as const);
    return { tables: Object.fromEntries(named), outcome: await this.#scene.outcome?.(this) };
  }

  /** The guarantees that do not hold. */
  async wrong({ tables: expected, outcome }: Left): Promise<readonly string[]> {
    const wrong: string[] = [];
    const left = await this.left();
    for (const [table, was] of Object.entries(expected)) {
      const is = JSON.stringify(left.tables[table]);
      if (is !== JSON.stringify(was))
        wrong.push(`${table} is other than undisturbed: ${is}\nand not ${JSON.stringify(was)}`);
    }
    const came = JSON.stringify(left.outcome);
    if (came !== JSON.stringify(outcome)) wrong.push(`came to ${came}\nand not to ${JSON.stringify(outcome)}`);
    const found = await askFile(this.warehouse, Object.values(faults));
    for (const [index, fault] of Object.keys(faults).entries()) {
      const isOld = (row: Row): boolean => this.#scene.isRepeated === true && row['state'] === 'failed';
      const rows = (found[index] ?? []).filter((row) => !isOld(row));
      if (rows.length > 0) wrong.push(`${fault}: ${JSON.stringify(rows)}`);
    }
    const audit = JSON.parse(await this.run(['audit', 'verify', '--json'])) as { readonly intact?: boolean };
    if (audit.intact !== true) wrong.push(`the audit is broken: ${JSON.stringify(audit)}`);
    if (await this.#tellsToken()) wrong.push('the token was shown');
    return wrong;
  }

  async #tellsToken(): Promise<boolean> {
    if (this.#said.includes(token)) return true;
    for (const key of await keysOf(this.#parts.redis, this.#prefix)) {
      const dumped = await this.#parts.redis.dumpBuffer(key);
      if (key.includes(token) || (dumped !== null && dumped.includes(token))) return true;
    }
    const [reports = []] = await askFile(this.warehouse, ['SELECT params, report FROM run']);
    return JSON.stringify(reports).includes(token);
  }

  async #heard(ended: Promise<Ended>): Promise<Ended> {
    const result = await ended;
    this.#said += result.stdout + result.stderr;
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { redis, server, folder, isKept } = this.#parts;
    const keys = await keysOf(redis, this.#prefix);
    if (keys.length > 0) await redis.del(...keys);
    await server.close();
    if (!isKept) await rm(folder, { recursive: true, force: true });
  }
}
