/** One call to the receiver of alerts: JSON or Slack's form, signed. It never throws, and never fails a run. */
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Config } from '../../../config/schema.ts';
import { kindText } from '../../core/alerts/kinds.ts';
import { fileReason } from '../../core/base/file-fault.ts';
import { figure, isoInstant, listed } from '../../core/base/text.ts';
import type { AlertMessage } from '../../warehouse/port/alerts.ts';
import { knownSecrets } from '../service/service-settings.ts';

type AlertSettings = Config['alerts'];

interface Delivery {
  readonly isTaken: boolean;
  readonly reason: string;
}

/** Whether the receiver took it. A redirect is none of ours: the address would be another one than configured. */
export async function sendMessage(
  message: AlertMessage,
  warehouse: string,
  { url, form, secretFile, timeoutMs }: AlertSettings,
): Promise<Delivery> {
  if (url === undefined) return { isTaken: false, reason: 'no receiver is set' };
  const body = JSON.stringify(
    form === 'slack' ? { text: slackText(message, warehouse) } : documentOf(message, warehouse),
  );
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
    'x-wellsync-id': message.id,
    'x-wellsync-timestamp': timestamp,
    ...(secret === undefined ? {} : { 'x-wellsync-signature': signatureOf(secret, timestamp, body) }),
  };
  return called(url, { method: 'POST', headers, body }, timeoutMs);
}

/** Tells a watcher of silence that a night came. */
export async function sendHeartbeat({ heartbeatUrl, timeoutMs }: AlertSettings): Promise<Delivery> {
  if (heartbeatUrl === undefined) return { isTaken: true, reason: '' };
  return called(heartbeatUrl, { method: 'GET' }, timeoutMs);
}

async function called(url: string, request: RequestInit, timeoutMs: number): Promise<Delivery> {
  const { address, authorization } = withoutUser(url);
  const headers = { ...(request.headers as Record<string, string> | undefined), ...authorization };
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(address, { ...request, headers, redirect: 'manual', signal });
    await response.body?.cancel();
    return { isTaken: response.ok, reason: `it answered ${response.status}` };
  } catch (error) {
    return { isTaken: false, reason: reasonOf(error) };
  }
}

/** Of a request that was not sent, such as to a port that `fetch` refuses, the cause has words and no code. */
function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { readonly cause?: Partial<Record<'code' | 'message', string>> };
  if (name === 'TimeoutError') return 'it did not answer in time';
  return cause?.code ?? cause?.message ?? message;
}

/** `fetch` takes no address with a user and a password: they go as a header. */
function withoutUser(url: string): { readonly address: URL; readonly authorization: Readonly<Record<string, string>> } {
  const address = new URL(url);
  const { username, password } = address;
  if (username === '' && password === '') return { address, authorization: {} };
  [address.username, address.password] = ['', ''];
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  return { address, authorization: { authorization: `Basic ${credentials}` } };
}

/** Over the time as well, so that an old message cannot be sent again by others. */
function signatureOf(secret: string, timestamp: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
}

const openings = {
  opened: '',
  reopened: 'Again: ',
  worsened: 'Worse: ',
  reminded: 'Still open: ',
  resolved: 'Resolved: ',
};

/**
 * `11 wells failed (export daily-production): A, B and 9 others: the service answers with a sign-in page`. Where they do not
 * say the same, the words are of the first of them; what is resolved was so.
 */
function sentenceOf({ change, kind, job, alerts, targets, summary, isOfAll, because, by }: AlertMessage): string {
  const others = alerts - targets.length;
  const named = listed([...targets, ...(others > 0 ? [`${figure(others)} others`] : [])]);
  const what = `${openings[change]}${kindText(kind, alerts)}${job === null ? '' : ` (${job})`}: ${named}`;
  const words = isOfAll ? summary : `of ${targets[0] ?? ''}: ${summary}`;
  if (change !== 'resolved') return `${what}: ${words}`;
  return because === null ? `${what}. It was: ${words}` : `${what}, by ${by}: ${because}. It was: ${words}`;
}

function documentOf(message: AlertMessage, warehouse: string) {
  const { id, change, kind, severity, job, summary, because, alerts, targets, ids: alertIds, by, atMs } = message;
  return {
    id,
    change,
    kind,
    severity,
    job,
    message: sentenceOf(message),
    summary,
    because,
    alerts,
    targets,
    alertIds,
    by,
    at: isoInstant(atMs),
    warehouse,
  };
}

function slackText(message: AlertMessage, warehouse: string): string {
  // Slack reads <…> as a link or a mention.
  const escaped = sentenceOf(message).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `${escaped} (wellsync, ${warehouse}, by ${message.by})`;
}
