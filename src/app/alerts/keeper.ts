/**
 * Alerts of a process that works or serves: what it sees beside its runs, and the messages that wait for the receiver, sent by
 * whichever process finds them (docs/design.md section 11). Nothing here fails a run.
 */
import { hostname } from 'node:os';
import { type Logger, pino } from 'pino';
import { z } from 'zod';
import { type Alert, type FoundAlert, type Observation, observeFeed, refusalOf } from '../../core/alerts/alert.ts';
import { type AlertKind, alertKinds, severities, stateKinds } from '../../core/alerts/kinds.ts';
import { isBusy, outagePartOf, type UnreachableError } from '../../core/base/errors.ts';
import type { RunRecord } from '../../core/run/run.ts';
import { OutageJournal } from '../../runs/outage-journal.ts';
import { sleep } from '../../timers/sleep.ts';
import type { StoredSchedule } from '../../warehouse/port/runs.ts';
import type { App } from '../app.ts';
import { serviceIdentityOf } from '../service/service-settings.ts';
import type { TickSource } from '../schedules/schedule.ts';
import { sendHeartbeat, sendMessage } from './receiver.ts';
import { observationsOf, StateWatch } from './state-watch.ts';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { mkdir, rm } from 'node:fs/promises';
import { shortened } from '../../core/base/text.ts';
import { readSmall, replace } from '../../files/durable-file.ts';
import type { AlertMessage } from '../../warehouse/port/alerts.ts';

const pollEveryMs = 15_000;

/** How long the end of a process waits for the receiver. */
const lastSendMs = 10_000;

/** Of the outbox: one receiver takes them one after the other. */
const messagesAtOnce = 20;

/** Above the number of parts of an installation. */
const mostStanding = 1_000;

interface KeeperOptions {
  /** What the process does. */
  readonly role: 'worker' | 'serve' | 'doctor' | 'command';
  readonly outages: OutageJournal;
  /** Whether a scheduler of this process tells of the schedules. */
  readonly hasScheduler?: boolean;
}

export class AlertKeeper {
  readonly #app: App;
  readonly #log: Logger;
  readonly #by: string;
  readonly #hasScheduler: boolean;
  readonly #watch: StateWatch;
  readonly #unwritten: UnwrittenAlerts;
  /** What this process last wrote of each kind: only a change is a transaction. */
  readonly #written = new Map<string, string>();
  /** What stood when this process began; undefined until the warehouse could be read. */
  #standing: readonly Pick<Alert, 'kind' | 'target'>[] | undefined;

  constructor(app: App, log: Logger, { role, outages, hasScheduler = false }: KeeperOptions) {
    this.#app = app;
    this.#log = log;
    this.#by = `${role}@${hostname()}`;
    this.#hasScheduler = hasScheduler;
    this.#watch = new StateWatch(app, outages);
    this.#unwritten = new UnwrittenAlerts(app.config.dataDir);
  }

  /** Called at least once for a run that ended. */
  async recordRunEnd(runId: string): Promise<void> {
    const { heartbeatUrl, heartbeatJobs } = this.#app.config.alerts;
    if (heartbeatUrl === undefined) return;
    await this.#quietly(async () => {
      const run = await this.#app.ledger.runs.read(runId);
      if (run?.report?.state !== 'done' || !heartbeatJobs.includes(run.job) || !isNight(run)) return;
      const { isTaken, reason } = await sendHeartbeat(this.#app.config.alerts);
      if (!isTaken) this.#log.warn({ because: reason }, 'the heartbeat could not be sent');
    });
  }

  /** Observes the installation and sends what waits, until the signal aborts. */
  async keep(signal: AbortSignal): Promise<void> {
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      // A worker that begins has no beat yet, and its queues would be taken for nobody's.
      await this.observe({ withWorkers: !isFirst });
      await this.send();
      await sleep(pollEveryMs, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Observes the installation once. */
  async observe({ withWorkers }: { readonly withWorkers: boolean }): Promise<void> {
    await this.#quietly(async () => {
      await this.#readStanding();
      const withSchedules = !this.#hasScheduler;
      const isServiceAlerted = this.#isAlerted('service-down');
      await this.#write(await this.#watch.observe({ isServiceAlerted, withWorkers, withSchedules }), Date.now());
    });
  }

  /** Observes the schedules of the ledger as they were read after `atMs`. */
  async recordSchedules(schedules: readonly StoredSchedule[], ticksOf: TickSource, atMs: number): Promise<void> {
    await this.#quietly(() => this.#write(observationsOf(schedules, ticksOf, atMs), atMs));
  }

  /** `fault`: why the feed could not be published, undefined where it was, or nothing was due. */
  async recordFeed(address: string, fault: string | undefined): Promise<void> {
    await this.#quietly(() => this.#write([observeFeed(address, fault)], Date.now()));
  }

  /** What waits when a process ends, such as a night by cron; what is over by then stands no longer. */
  async sendLast(): Promise<void> {
    const last = async (): Promise<void> => {
      if (stateKinds.some((kind) => this.#isAlerted(kind))) await this.observe({ withWorkers: false });
      await this.send();
    };
    await this.sendInTime(last);
  }

  /** For the end of a process, which waits so long for the receiver and no longer. */
  async sendInTime(work = (): Promise<void> => this.send()): Promise<void> {
    await Promise.race([work(), sleep(lastSendMs, { ref: false })]);
  }

  async #readStanding(): Promise<void> {
    if (this.#standing !== undefined) return;
    const { ledger, warehouse } = this.#app;
    try {
      if (!(await warehouse.isStored())) return;
      const states = ['open', 'acknowledged'] as const;
      const found = await ledger.alerts.list({ limit: mostStanding, nowMs: Date.now(), kinds: stateKinds, states });
      this.#standing = found.alerts;
    } catch (error) {
      this.#log.debug({ because: String(error) }, 'alerts could not be read');
    }
  }

  /** By what this process wrote last, or found when it began. */
  #isAlerted(kind: Alert['kind']): boolean {
    const written = [...this.#written].filter(([key]) => key.startsWith(`["${kind}",`));
    if (written.length > 0) return written.some(([, found]) => found !== '[]');
    return this.#standing?.some((each) => each.kind === kind) ?? false;
  }

  /** Whether it says anything else than was written last, or stood. */
  #isNews(seen: Observation): boolean {
    const written = this.#written.get(keyOf(seen));
    if (written !== undefined) return written !== JSON.stringify(seen.found);
    const isStanding = this.#standing?.some(
      ({ kind, target }) => kind === seen.kind && (seen.observed === 'all' || seen.observed.includes(target.id)),
    );
    return seen.found.length > 0 || (isStanding ?? false);
  }

  async #write(observations: readonly Observation[], atMs: number): Promise<void> {
    await this.#readStanding();
    const unwritten = await this.#unwritten.read();
    const news = observations.filter(
      (each) => this.#isNews(each) || unwritten.some((one) => one.endedAtMs === undefined && isGone(one, each)),
    );
    if (news.length + unwritten.length === 0) return;
    try {
      await this.#writeKept(unwritten);
      if (news.length > 0) await this.#app.ledger.alerts.observe(news, { by: this.#by, atMs });
      for (const each of news) this.#written.set(keyOf(each), JSON.stringify(each.found));
      this.#watch.recordWrite(undefined);
    } catch (error) {
      if (isBusy(error) || outagePartOf(error) !== 'warehouse') throw error;
      this.#watch.recordWrite(error);
      await this.#unwritten.record(
        news.map((each) => this.#withoutWritten(each)),
        this.#by,
        atMs,
      );
      await this.#sendUnwritten();
    }
  }

  /** Without what the warehouse has as open. */
  #withoutWritten(seen: Observation): Observation {
    const written = JSON.parse(this.#written.get(keyOf(seen)) ?? '[]') as Observation['found'];
    return { ...seen, found: seen.found.filter(({ target }) => !written.some((each) => each.target === target)) };
  }

  /** Brings what the warehouse could not take into it. What it had of it already, before a process was killed, stays as it is. */
  async #writeKept(unwritten: readonly UnwrittenAlert[]): Promise<void> {
    if (unwritten.length === 0) return;
    const { alerts } = this.#app.ledger;
    for (const each of unwritten) {
      const { kind, target, targetKind, by, atMs, sentAtMs, endedAtMs, endSentAtMs } = each;
      const about = { limit: messagesAtOnce, nowMs: Date.now(), kinds: [kind], target };
      const known = (await alerts.list(about)).alerts.find((one) => one.target.kind === targetKind);
      const isKnown = (known?.resolved?.atMs ?? -Infinity) >= atMs;
      const { opened, ended } = observationsOfUnwritten(each);
      if (!isKnown) await alerts.observe([opened], { by, atMs, ...(sentAtMs !== undefined && { sentAtMs }) });
      if (endedAtMs === undefined || isKnown) continue;
      await alerts.observe([ended], {
        by,
        atMs: endedAtMs,
        ...(endSentAtMs !== undefined && { sentAtMs: endSentAtMs }),
      });
    }
    await this.#unwritten.save([]);
  }

  /** At once: the warehouse, which keeps messages for the receiver, takes none. */
  async #sendUnwritten(): Promise<void> {
    const { url } = this.#app.config.alerts;
    if (url === undefined) return;
    const sent = async (alert: UnwrittenAlert, change: 'opened' | 'resolved'): Promise<number | undefined> =>
      alert.severity !== 'info' && (await this.#isTaken(messageOf(alert, change))) ? Date.now() : undefined;
    const all: UnwrittenAlert[] = [];
    for (const each of await this.#unwritten.read()) {
      const sentAtMs = each.sentAtMs ?? (await sent(each, 'opened'));
      // In the order of what happened, and nothing that is over of which nobody was told.
      const isEnd = each.endedAtMs !== undefined && sentAtMs !== undefined;
      const endSentAtMs = each.endSentAtMs ?? (isEnd ? await sent(each, 'resolved') : undefined);
      all.push({
        ...each,
        ...(sentAtMs !== undefined && { sentAtMs }),
        ...(endSentAtMs !== undefined && { endSentAtMs }),
      });
    }
    await this.#unwritten.save(all);
  }

  /** A command that could not begin, since a part is out of reach: nobody would hear of a night without a run. */
  async recordRefusal(error: UnreachableError): Promise<void> {
    await this.#quietly(async () => {
      const seen = refusalOf(error, { service: serviceIdentityOf(this.#app.config).key, host: hostname() });
      if (seen !== undefined) await this.#write([seen], Date.now());
    });
    await this.sendInTime();
  }

  /** Sends what waits in the warehouse. */
  async send(): Promise<void> {
    const { ledger, config } = this.#app;
    if (config.alerts.url === undefined) return;
    await this.#quietly(async () => {
      const { outbox } = ledger.alerts;
      const messages = await outbox.take(messagesAtOnce, Date.now());
      for (const [index, message] of messages.entries()) {
        if (!(await this.#isTaken(message))) {
          await outbox.release(messages.slice(index).map(({ id }) => id));
          return;
        }
        await outbox.settle([message.id], Date.now());
      }
    });
  }

  async #isTaken(message: Parameters<typeof sendMessage>[0]): Promise<boolean> {
    const { warehouse, config } = this.#app;
    const { isTaken, reason } = await sendMessage(message, warehouse.location, config.alerts);
    if (!isTaken) this.#log.warn({ alert: message.id, because: reason }, 'an alert could not be sent: it waits');
    return isTaken;
  }

  async #quietly(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#log.debug({ because: String(error) }, 'alerts could not be kept');
    }
  }
}

/** For a command that works no queue: what it does not say itself, it does not log either. */
export function keeperOfCommand(app: App, role: 'doctor' | 'command'): AlertKeeper {
  const log = pino({ level: 'silent' });
  return new AlertKeeper(app, log, { role, outages: new OutageJournal(log) });
}

const keyOf = ({ kind, observed }: Observation): string => JSON.stringify([kind, observed]);

/** Of a schedule, or over all wells of a source; and it opened no error. A backfill of one well is no night. */
function isNight({ schedule, params, report }: RunRecord): boolean {
  const hasSource = nightParams.safeParse(params).success;
  return (hasSource || schedule !== undefined) && !report?.alerts?.some(({ severity }) => severity === 'error');
}

const nightParams = z.object({ source: z.string() });

// Alerts of the state of the installation while the warehouse cannot be written: a small file of the data folder has them
// until it can, and the receiver is told at once. Processes of a host share the file; of two that write it at one moment the
// last one stays, and the other sees its own again at its next look.

/** More than an installation has parts. What is above is in the log alone. */
const mostKept = 100;
const mostSummaryChars = 300;

const schema = z.strictObject({
  id: z.string(),
  kind: z.enum(Object.keys(alertKinds) as [AlertKind, ...AlertKind[]]),
  targetKind: z.string(),
  target: z.string(),
  severity: z.enum(severities),
  cause: z.string(),
  summary: z.string(),
  detail: z.record(z.string(), z.unknown()),
  by: z.string(),
  atMs: z.number(),
  /** When the receiver was told that it opened. */
  sentAtMs: z.number().optional(),
  /** When it was seen no more. */
  endedAtMs: z.number().optional(),
  endSentAtMs: z.number().optional(),
});

/** One that opened, and may have ended, while it could not be written. Times are milliseconds since 1970. */
export type UnwrittenAlert = z.output<typeof schema>;

export class UnwrittenAlerts {
  readonly #file: string;
  /** What the file has, or would have if it could be written: its disk may be the one that is full. */
  #kept: readonly UnwrittenAlert[] = [];
  #isSaved = true;

  constructor(dataDir: string) {
    this.#file = path.join(dataDir, 'unwritten-alerts.json');
  }

  /** Also those of other processes of the host, and of one that died. A file that cannot be understood is none. */
  async read(): Promise<readonly UnwrittenAlert[]> {
    if (!this.#isSaved) return this.#kept;
    const text = await readSmall(this.#file).catch(() => undefined);
    this.#kept = text === undefined ? [] : understood(text);
    return this.#kept;
  }

  /** Adds what was found, and ends what was seen and not found. */
  async record(observations: readonly Observation[], by: string, atMs: number): Promise<void> {
    const kept = await this.read();
    const ended = kept.map((each) =>
      each.endedAtMs === undefined && observations.some((seen) => isGone(each, seen))
        ? { ...each, endedAtMs: atMs }
        : each,
    );
    const added = observations.flatMap((seen) =>
      seen.found
        .filter(({ target }) => !ended.some((each) => isOf(each, seen, target) && each.endedAtMs === undefined))
        .map((found) => alertOf(seen, found, { by, atMs, id: randomUUID() })),
    );
    await this.save([...ended, ...added.slice(0, Math.max(0, mostKept - ended.length))]);
  }

  async save(kept: readonly UnwrittenAlert[]): Promise<void> {
    if (JSON.stringify(kept) === JSON.stringify(this.#kept) && this.#isSaved) return;
    this.#kept = kept;
    try {
      if (kept.length === 0) await rm(this.#file, { force: true });
      else {
        await mkdir(path.dirname(this.#file), { recursive: true });
        await replace(this.#file, JSON.stringify(kept));
      }
      this.#isSaved = true;
    } catch {
      this.#isSaved = false;
    }
  }
}

function understood(text: string): readonly UnwrittenAlert[] {
  try {
    return z.array(schema).parse(JSON.parse(text));
  } catch {
    return [];
  }
}

function isOf(each: UnwrittenAlert, { kind, targetKind }: Observation, target: string): boolean {
  return each.kind === kind && each.targetKind === targetKind && each.target === target;
}

/** Whether it was seen, and is not found. */
function isGone(each: UnwrittenAlert, seen: Observation): boolean {
  const isSeen = seen.observed === 'all' || seen.observed.includes(each.target);
  return isSeen && isOf(each, seen, each.target) && !seen.found.some(({ target }) => target === each.target);
}

function alertOf(
  { kind, targetKind }: Observation,
  { target, severity, cause, summary, detail }: FoundAlert,
  seen: Pick<UnwrittenAlert, 'by' | 'atMs' | 'id'>,
): UnwrittenAlert {
  return { ...seen, kind, targetKind, target, severity, cause, summary: shortened(summary, mostSummaryChars), detail };
}

/** The message that it opened, or has ended. */
function messageOf(alert: UnwrittenAlert, change: 'opened' | 'resolved'): AlertMessage {
  const { id, kind, severity, summary, target, by, atMs, endedAtMs = atMs } = alert;
  const isEnd = change === 'resolved';
  const about = {
    change,
    kind,
    severity,
    job: null,
    summary,
    isOfAll: true,
    because: null,
    alerts: 1,
    targets: [target],
    ids: [],
    by,
  };
  return { ...about, id: isEnd ? `${id}-resolved` : id, atMs: isEnd ? endedAtMs : atMs };
}

/** What the warehouse is to be told of it: that it was found, and that it was found no more. */
function observationsOfUnwritten(alert: UnwrittenAlert): {
  readonly opened: Observation;
  readonly ended: Observation;
} {
  const { kind, targetKind, target, severity, cause, summary, detail } = alert;
  const about = { kind, job: null, targetKind, observed: [target] };
  return {
    opened: { ...about, found: [{ target, severity, cause, summary, detail, size: 1 }] },
    ended: { ...about, found: [] },
  };
}
