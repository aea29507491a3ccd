/**
 * Alerts of a process that works: raised in Redis at the end of runs, sent by whichever process finds them waiting
 * (docs/design.md section 11). Nothing here fails a run.
 */
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Config } from '../../../config/schema.ts';
import { fileReason } from '../../core/base/file-fault.ts';
import { isoInstant } from '../../core/base/text.ts';
import { type Observation, observeLevel, observeRun, observeSchedule } from '../../core/run/alert.ts';
import { overdueTick } from '../../core/time/ticks.ts';
import type { AlertMessage, AlertStore } from '../../queue/port.ts';
import { sleep } from '../../timers/sleep.ts';
import type { StoredSchedule } from '../../warehouse/port/runs.ts';
import type { App } from '../app.ts';
import { staleWells } from '../wells/coverage.ts';
import { readSchedule, type TickSource } from '../schedules/schedule.ts';
import { knownSecrets, serviceIdentityOf } from '../service/service-settings.ts';

const pollEveryMs = 15_000;

/** How long the end of a process waits for the receiver. */
const lastSendMs = 10_000;

export class Alerts {
  readonly #app: App;
  readonly #log: Logger;

  constructor(app: App, log: Logger) {
    this.#app = app;
    this.#log = log;
  }

  /** Called at least once for a run that ended; a second call changes nothing. */
  async recordRunEnd(runId: string): Promise<void> {
    await this.#quietly(async (store) => {
      const run = await this.#app.ledger.runs.read(runId);
      const job = this.#app.jobs.find(({ name }) => name === run?.job);
      if (run?.report === undefined || job === undefined) return;
      if (run.report.state === 'done' && this.#app.config.alerts.heartbeatJobs.includes(run.job)) await this.#beat();
      const observation = observeRun(run.report, run.actor, job);
      if (observation === undefined || !this.#hasReceiver) return;
      await store.record(observation);
      if (run.job.startsWith('export daily-production')) await store.record(await this.#staleWells());
    });
  }

  /** Looks at the hold of the service and sends what waits, until the signal aborts. */
  async keep(signal: AbortSignal): Promise<void> {
    while (this.#hasReceiver && !signal.aborted) {
      await this.#quietly(async (store) => store.record(await this.#hold()));
      await this.#send();
      await sleep(pollEveryMs, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Looks at the schedules of the ledger as they were read after `atMs`. */
  async recordSchedules(schedules: readonly StoredSchedule[], ticksOf: TickSource, atMs: number): Promise<void> {
    if (!this.#hasReceiver) return;
    await this.#quietly(async (store) => {
      for (const observation of schedules.flatMap((each) => this.#observe(each, ticksOf, atMs) ?? []))
        await store.record(observation);
    });
  }

  /** Undefined for a schedule of another version, which has processes of its own. */
  #observe(stored: StoredSchedule, ticksOf: TickSource, atMs: number): Observation | undefined {
    const definition = readSchedule(stored)?.definition;
    if (definition === undefined) return undefined;
    const { name, lastTick, paused, sinceMs } = stored;
    const taken = { sinceMs: Math.max(sinceMs, lastTick?.dueMs ?? 0), nowMs: atMs };
    const overdueMs = overdueTick(ticksOf(definition), taken);
    const state = { name, job: definition.job, service: this.#service, isPaused: paused !== undefined };
    return observeSchedule({ ...state, overdueMs, lastTick }, atMs);
  }

  /** What waits when a process ends, such as a night by cron. */
  async sendLast(): Promise<void> {
    await Promise.race([this.#send(), sleep(lastSendMs, { ref: false })]);
  }

  async #send(): Promise<void> {
    if (!this.#hasReceiver) return;
    const { warehouse, config } = this.#app;
    await this.#quietly((store) =>
      store.sendWaiting(async (message) => {
        const { isTaken, reason } = await sendAlert(message, warehouse.location, config.alerts);
        if (!isTaken) this.#log.warn({ alert: message.id, because: reason }, 'an alert could not be sent: it waits');
        return isTaken;
      }),
    );
  }

  async #beat(): Promise<void> {
    const { isTaken, reason } = await sendHeartbeat(this.#app.config.alerts);
    if (!isTaken) this.#log.warn({ because: reason }, 'the heartbeat could not be sent');
  }

  async #staleWells(): Promise<Observation> {
    const nowMs = Date.now();
    const { length: value } = await staleWells(this.#app, { nowMs });
    const most = this.#app.config.alerts.maxStaleWells;
    const message = `${value} wells have no new day, more than ${most}`;
    return observeLevel('stale-wells', { service: this.#service, value, most, message }, nowMs);
  }

  async #hold(): Promise<Observation> {
    const nowMs = Date.now();
    const hold = await (await this.#app.queue('lasting')).serviceHold.read();
    const value = Math.max(0, (hold?.untilMs ?? 0) - nowMs);
    const most = this.#app.config.alerts.maxHoldMs;
    const message = `the service holds all requests until ${new Date(nowMs + value).toISOString()}`;
    return observeLevel('service-hold', { service: this.#service, value, most, message }, nowMs);
  }

  /** Without one, no message waits for it. */
  get #hasReceiver(): boolean {
    return this.#app.config.alerts.url !== undefined;
  }

  get #service(): string {
    return serviceIdentityOf(this.#app.config).key;
  }

  /** Nothing is read where nothing is set. */
  async #quietly(work: (store: AlertStore) => Promise<void>): Promise<void> {
    const { url, heartbeatUrl } = this.#app.config.alerts;
    if (url === undefined && heartbeatUrl === undefined) return;
    try {
      await work((await this.#app.queue('lasting')).alerts);
    } catch (error) {
      this.#log.debug({ because: String(error) }, 'alerts could not be looked at');
    }
  }
}

/** One call to the receiver of alerts: JSON or Slack's form, signed. It never throws, and never fails a run. */
type AlertSettings = Config['alerts'];

/** Whether the receiver took it. A redirect is none of ours: the address would be another one than configured. */
async function sendAlert(
  message: AlertMessage,
  warehouse: string,
  { url, form, secretFile, timeoutMs }: AlertSettings,
): Promise<{ readonly isTaken: boolean; readonly reason: string }> {
  if (url === undefined) return { isTaken: false, reason: 'no receiver is set' };
  const body = JSON.stringify(form === 'slack' ? { text: textOf(message, warehouse) } : documentOf(message, warehouse));
  let secret: string | undefined;
  try {
    secret = secretFile === undefined ? undefined : (await readFile(secretFile, 'utf8')).trim();
  } catch (error) {
    return { isTaken: false, reason: `alerts.secretFile cannot be read: ${fileReason(error)}` };
  }
  knownSecrets.add(secret);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers = {
    'content-type': 'application/json',
    'x-wellsync-id': `${message.id}-${message.kind}`,
    'x-wellsync-timestamp': timestamp,
    ...(secret === undefined ? {} : { 'x-wellsync-signature': signatureOf(secret, timestamp, body) }),
  };
  return called(url, { method: 'POST', headers, body }, timeoutMs);
}

/** Tells a watcher of silence that a night came. */
async function sendHeartbeat({ heartbeatUrl, timeoutMs }: AlertSettings) {
  if (heartbeatUrl === undefined) return { isTaken: true, reason: '' };
  return called(heartbeatUrl, { method: 'GET' }, timeoutMs);
}

async function called(url: string, request: RequestInit, timeoutMs: number) {
  try {
    const response = await fetch(url, { ...request, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
    await response.body?.cancel();
    return { isTaken: response.ok, reason: `it answered ${response.status}` };
  } catch (error) {
    const { name, cause } = error as Error & { readonly cause?: { readonly code?: string } };
    return { isTaken: false, reason: name === 'TimeoutError' ? 'it did not answer in time' : (cause?.code ?? name) };
  }
}

/** Over the time as well, so that an old message cannot be sent again by others. */
function signatureOf(secret: string, timestamp: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
}

/** What is over is worded otherwise than what begins: somebody reads the words alone. */
function sentenceOf({ kind, message }: AlertMessage): string {
  return kind === 'over' ? `Over: ${message}` : message;
}

function documentOf(alert: AlertMessage, warehouse: string) {
  const { id, kind, cause, runId, atMs, raisedAtMs } = alert;
  const message = sentenceOf(alert);
  return { id, kind, cause, message, runId, at: isoInstant(atMs), raisedAt: isoInstant(raisedAtMs), warehouse };
}

function textOf(alert: AlertMessage, warehouse: string): string {
  const { runId } = alert;
  const run = runId === null ? '' : `, run ${runId}`;
  // Slack reads <…> as a link or a mention.
  const escaped = sentenceOf(alert).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `${escaped} (wellsync, ${warehouse}${run})`;
}
