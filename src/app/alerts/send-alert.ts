/** One call to the receiver of alerts: JSON or Slack's form, signed. It never throws, and never fails a run. */
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Config } from '../../../config/schema.ts';
import { fileReason } from '../../core/base/file-fault.ts';
import type { AlertMessage } from '../../queue/port.ts';
import { knownSecrets } from '../known-secrets.ts';

type AlertSettings = Config['alerts'];

/** Whether the receiver took it. A redirect is none of ours: the address would be another one than configured. */
export async function sendAlert(
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
export async function sendHeartbeat({ heartbeatUrl, timeoutMs }: AlertSettings) {
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
function wordsOf({ kind, message }: AlertMessage): string {
  return kind === 'over' ? `Over: ${message}` : message;
}

function documentOf(alert: AlertMessage, warehouse: string) {
  const { id, kind, cause, runId, atMs, raisedAtMs } = alert;
  const message = wordsOf(alert);
  const iso = (instantMs: number): string => new Date(instantMs).toISOString();
  return { id, kind, cause, message, runId, at: iso(atMs), raisedAt: iso(raisedAtMs), warehouse };
}

function textOf(alert: AlertMessage, warehouse: string): string {
  const { runId } = alert;
  const run = runId === null ? '' : `, run ${runId}`;
  // Slack reads <…> as a link or a mention.
  const escaped = wordsOf(alert).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `${escaped} (wellsync, ${warehouse}${run})`;
}
