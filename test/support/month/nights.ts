/** Runs the month: each night an export by cron, each morning what stands open, and what a person does then. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { freePort } from '../../../scripts/setup/private-redis.mjs';
import { DAY_MS } from '../../../src/core/time/window.ts';
import { startReceiver } from '../alert-receiver.ts';
import { cliHome, type CliHome } from '../cli.ts';
import type { CommandResult } from '../command-result.ts';
import { tenColumns } from '../pipes.ts';
import { movedClock, redisByClock } from './clock.ts';
import { first, firstNightMs, nights, receiverAway, renamed, warnAfterDays, wholeReadOn } from './faults.ts';
import { startMonthService } from './service.ts';

export interface Message {
  readonly night: number;
  readonly change: string;
  readonly kind: string;
  readonly targets: readonly string[];
  readonly alerts: number;
}

export interface SeenNight {
  /** Whether a first command of it was killed. */
  readonly isKilled: boolean;
  readonly code: number | null;
  /** Of a push beside the export. */
  readonly pushCode?: number | null | undefined;
  readonly said: string;
  /** `KIND TARGET` of what stands open in the morning. */
  readonly open: readonly string[];
}

export interface SeenMonth {
  readonly nights: readonly SeenNight[];
  /** Each message once, with the night of the first time. */
  readonly messages: readonly Message[];
  /** Nights that sent the heartbeat. */
  readonly beats: readonly number[];
}

const listSchema = z.object({
  alerts: z.array(
    z.object({
      id: z.string(),
      kind: z.string(),
      target: z.object({ id: z.string() }),
      detail: z.record(z.string(), z.unknown()),
    }),
  ),
});
const messageSchema = z.object({
  id: z.string(),
  change: z.string(),
  kind: z.string(),
  alerts: z.number(),
  targets: z.array(z.string()),
});

export interface MonthOptions {
  /** Milliseconds after which the command of a night is killed, and given again; undefined: it is not. */
  readonly killAfterMs: (night: number) => number | undefined;
}

export async function runMonth({ killAfterMs }: MonthOptions): Promise<SeenMonth> {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-month-'));
  const clock = movedClock(path.join(folder, 'clock'));
  await clock.moveTo(firstNightMs);
  const redisPort = await freePort();
  await using redis = await redisByClock(redisPort, clock);
  await using service = await startMonthService(await freePort());
  await using receiver = await startReceiver();
  const config = `
alerts: { url: '${receiver.url}/hook', heartbeatUrl: '${receiver.url}/beat' }
freshness: { warnAfterDays: ${warnAfterDays} }
service: { retry: { attempts: 1 } }
export: { historyFrom: '2026-11-01', lookback: 9 }
queue: { attempts: 2, baseDelayMs: 200, maxHoldMs: 20000 }
# Every day of these wells is like the one before.
checks: { off: [stale-repeat] }
`;
  await using home = await cliHome(service.url, { redisUrl: redis.url, config });
  const { env } = clock;
  const run = (args: readonly string[]): Promise<CommandResult> => home.run(args, { env });
  const wellsFile = path.join(home.folder, 'wells.csv');
  const exported = ['export', 'daily-production', '--wells', wellsFile, '--inline', '--quiet'];
  const seen: SeenNight[] = [];
  const messages = new Map<string, Message>();
  const beats: number[] = [];

  /** What the receiver has taken since it was last asked. */
  function takeCalls(night: number): void {
    const isTaken = receiver.state.status === 200;
    for (const { path: address, body } of receiver.calls.splice(0)) {
      if (address === '/beat') beats.push(night);
      else if (isTaken) {
        const { id, ...message } = messageSchema.parse(JSON.parse(body));
        const targets = message.targets.map((target) => shown(target, home)).toSorted();
        if (!messages.has(id)) messages.set(id, { night, ...message, targets });
      }
    }
  }

  for (let night = 0; night <= nights; night += 1) {
    // A minute later each night: what is due after seven days is.
    await clock.moveTo(firstNightMs + night * (DAY_MS + 60_000));
    await service.setNight(night);
    await writeFile(wellsFile, ['uwi', ...listOf(night)].join('\n'));
    const isAway = night === 21;
    if (isAway) await service.setAway(true);
    receiver.state.status = receiverAway.includes(night) ? 500 : 200;
    const command = night === wholeReadOn ? [...exported, '--from', '2026-11-01'] : exported;
    const killMs = killAfterMs(night);
    if (killMs !== undefined) await killed(home, command, { env, killMs });
    const { code, stdout, stderr } = await run(command);
    // Wrong use: the month is no month.
    if (code === 2) throw new Error(`night ${night}: ${stderr}`);
    const pushed = night === 25 ? await pushedPipes(run, home) : undefined;
    if (isAway) await service.setAway(false);
    takeCalls(night);
    const { alerts } = await listed(run);
    const open = alerts.map(({ kind, target }) => `${kind} ${shown(target.id, home)}`).toSorted();
    seen.push({ isKilled: killMs !== undefined, code, pushCode: pushed?.code, said: `${stdout}${stderr}`, open });
    await morning(night, { run, home, alerts });
    takeCalls(night);
  }
  await rm(folder, { recursive: true });
  return { nights: seen, messages: [...messages.values()], beats };
}

/** A file by its name, the service by what it is: the rest of a target is of this machine. */
function shown(target: string, home: CliHome): string {
  if (target.startsWith('http')) return 'service';
  return target.startsWith(home.folder) ? path.basename(target) : target.replace(/ [\da-f-]{36}$/, '');
}

/** The list of wells of a night. */
function listOf(night: number): readonly string[] {
  const known = night < 2 ? first : [...first.filter((uwi) => uwi !== 'W11'), renamed];
  return night === 13 || night === 14 ? known.slice(0, 8) : known;
}

/** Of three rows two are wrong. */
async function pushedPipes(run: Run, home: CliHome): Promise<CommandResult> {
  const rows = [
    ['P1', '[1]'],
    ['P2', '[-1]'],
    ['P3', '[-1]'],
  ].map(([id, length]) => `N,${id},2024-01-01T00:00:00Z,A,B,true,"${length}",[2],[3],[4]`);
  const file = await home.write('pipes.csv', `${[tenColumns, ...rows].join('\n')}\n`);
  return run(['push', 'network-pipes', file, '--inline', '--quiet']);
}

type Run = (args: readonly string[]) => Promise<CommandResult>;

async function listed(run: Run) {
  const { code, stdout } = await run(['alerts', 'list', '--json']);
  if (code !== 0) throw new Error(`alerts list: ${stdout}`);
  return listSchema.parse(JSON.parse(stdout));
}

async function killed(
  home: CliHome,
  command: readonly string[],
  { env, killMs }: { readonly env: Readonly<Record<string, string>>; readonly killMs: number },
): Promise<void> {
  const started = home.start(command, { env });
  const timer = setTimeout(() => started.signal('SIGKILL'), killMs);
  await started.ended;
  clearTimeout(timer);
}

/** What a person does after the list was read. */
async function morning(
  night: number,
  {
    run,
    home,
    alerts,
  }: { readonly run: Run; readonly home: CliHome; readonly alerts: z.output<typeof listSchema>['alerts'] },
): Promise<void> {
  const done = async (...args: readonly string[]): Promise<CommandResult> => {
    const result = await run(args);
    if (result.code !== 0) throw new Error(`morning ${night}: ${args.join(' ')}: ${result.stderr}${result.stdout}`);
    return result;
  };
  const idOf = (kind: string): string => alerts.find((alert) => alert.kind === kind)?.id ?? 'none';
  if (night === 11) await done('alerts', 'resolve', idOf('wells-left-out'), '--because', 'renamed to W13');
  if (night === 12) await done('alerts', 'accept', idOf('record-quarantined'), '--because', 'the meter was replaced');
  if (night === 18) await done('alerts', 'resolve', idOf('rows-restated'), '--group', '--because', 'reported again');
  if (night === 20) {
    const held = alerts.find(({ kind }) => kind === 'rows-held');
    await done('runs', 'release', String(held?.detail['runId']), '--yes', '--inline');
  }
  if (night === 25) {
    const runId = String(alerts.find(({ kind }) => kind === 'rows-rejected')?.detail['runId']);
    const { stdout } = await done('runs', 'rejects', runId);
    const corrected = await home.write('corrected.csv', stdout.replaceAll('[-1]', '[1]'));
    await done('push', 'network-pipes', corrected, '--corrects', runId, '--inline');
  }
  if (night === 28) {
    const until = new Date(firstNightMs + 30 * DAY_MS).toISOString().slice(0, 10);
    await done('alerts', 'ack', idOf('well-unknown'), '--because', 'a workover', '--until', until);
  }
}
