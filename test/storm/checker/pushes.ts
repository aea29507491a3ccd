/** Pushes against their files: the sum of their rows (G2), and what of each pipe the service was sent and ends with (G5). */
import { createHash } from 'node:crypto';
import type { Evidence, RecordBody, ServiceRequest, Violation } from '../evidence.ts';
import { countsOf, type Counts, disturbancesIn, type Ledger, type LedgerRun } from './ledger.ts';
import { pipeOf, type PipeRow, type PipesFile, pipesFileOf, versionOf } from './pipes-file.ts';
import type { CheckRules } from './rules.ts';
import { groupedBy, isSame, objectOf, textOf, violated } from './tables.ts';

interface Push {
  readonly run: LedgerRun;
  readonly file: PipesFile;
  readonly counts: Counts;
  /** By pipe, in the order of the file. */
  readonly rowsByPipe: ReadonlyMap<string, readonly PipeRow[]>;
  /** Its content was pushed by another run: this one sent nothing. */
  readonly isOfOther: boolean;
}

export interface ComparedPushes {
  readonly violations: readonly Violation[];
  readonly pushes: number;
  /** Pipes whose end at the service was compared. */
  readonly pipes: number;
}

export function checkPushes(evidence: Evidence, ledger: Ledger, rules: CheckRules): ComparedPushes {
  const pushes = pushesOf(evidence, ledger);
  const refused = new Set(evidence.service.requests.flatMap((request) => request.refused?.sourceIds ?? []));
  const sent = sentVersions(evidence);
  const senders = pushes.filter(({ file, isOfOther }) => file.isWide && !isOfOther);
  const context = { evidence, rules, refused, sent, senders };
  const ended = endsOfPipes(context);
  return {
    pushes: pushes.length,
    pipes: ended.pipes,
    violations: [
      ...pushes.flatMap((push) => violationsOfRows(push, refused)),
      ...senders.flatMap((push) => violationsOfSent(push, context)),
      ...violationsOfBodies(pushes, evidence, rules),
      ...violationsOfInbox(evidence, ledger),
      ...ended.violations,
    ],
  };
}

interface Context {
  readonly evidence: Evidence;
  readonly rules: CheckRules;
  readonly refused: ReadonlySet<string>;
  readonly sent: ReadonlyMap<string, readonly SentPipe[]>;
  readonly senders: readonly Push[];
}

/** Runs of pushes whose files are known, by the digest of their content. */
function pushesOf({ calls }: Evidence, { runs }: Ledger): readonly Push[] {
  const texts = new Map(calls.flatMap(({ pipesCsv: text }) => (text === undefined ? [] : [[digestOf(text), text]])));
  return [...runs.values()].flatMap((run): readonly Push[] => {
    const text = texts.get(String(objectOf(run.params['content'])['sha256']));
    if (run.job !== 'push network-pipes' || text === undefined) return [];
    const file = pipesFileOf(text, objectOf(run.params['reading']));
    const notices = run.report?.['notices'];
    const isOfOther =
      Array.isArray(notices) && notices.some((notice) => /^run \S+ pushed this content/.test(String(notice)));
    const counts = countsOf(run.report?.['counts']);
    return [{ run, file, counts, isOfOther, rowsByPipe: groupedBy(file.rows, ({ pipe }) => pipe) }];
  });
}

/** G7: a file that was dropped into the inbox is one run, whatever died meanwhile. */
function violationsOfInbox({ calls }: Evidence, { runs }: Ledger): readonly Violation[] {
  const byDigest = groupedBy(
    [...runs.values()].filter(({ row }) => textOf(row, 'actor').startsWith('inbox/')),
    ({ params }) => String(objectOf(params['content'])['sha256']),
  );
  return calls.flatMap(({ words: [what, file = ''], pipesCsv, atMs }) => {
    if (what !== 'inbox' || pipesCsv === undefined) return [];
    const runIds = (byDigest.get(digestOf(pipesCsv)) ?? []).map(({ id }) => id);
    if (runIds.length === 1) return [];
    return [violated('G7', `the file ${file} of the inbox is ${runIds.length} runs`, { atMs, runIds })];
  });
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A pipe of a body that the service applied. */
interface SentPipe {
  readonly body: RecordBody;
  readonly request: ServiceRequest;
}

/** What the service applied of each pipe, in its order. */
function sentVersions({ service }: Evidence): ReadonlyMap<string, readonly SentPipe[]> {
  const applied = service.requests
    .filter(({ isApplied }) => isApplied === true)
    .toSorted((left, right) => (left.worked ?? left.no) - (right.worked ?? right.no));
  const sent = applied.flatMap((request) => (request.pipes ?? []).map((body) => ({ body, request })));
  return groupedBy(sent, ({ body }) => pipeOf(body));
}

/**
 * G2: each data row of a push that is done was accepted, superseded, or rejected, and no row was that the rules of the file, or
 * the service, refuse.
 */
function violationsOfRows({ run, file, counts }: Push, refused: ReadonlySet<string>): readonly Violation[] {
  if (run.state !== 'done') return [];
  const { rows = 0, accepted = 0, superseded = 0, rejectedByUs = 0, rejectedByService = 0, failed = 0 } = counts;
  const total = file.rows.length + file.broken;
  const at = { runId: run.id, atMs: run.finishedMs, counts };
  const violations: Violation[] = [];
  if (rows !== total)
    violations.push(violated('G2', `push ${run.id} counts ${rows} rows, and its file has ${total}`, at));
  if (!file.isWide) return violations;
  if (rejectedByUs !== file.broken) {
    violations.push(
      violated('G2', `push ${run.id} rejected ${rejectedByUs} rows, and ${file.broken} break the rules`, at),
    );
  }
  const bad = file.rows.filter(({ sourceId }) => refused.has(sourceId));
  const good = file.rows.filter(({ sourceId }) => !refused.has(sourceId));
  const distinct = (those: readonly PipeRow[]): number => new Set(those.map(identityOf)).size;
  const isRefused = rejectedByService <= bad.length && rejectedByService + failed >= distinct(bad);
  if (!isRefused) {
    const what = `push ${run.id} counts ${rejectedByService} rows that the service refused, of ${bad.length} that it refuses`;
    violations.push(violated('G2', what, at));
  }
  if (accepted > good.length || accepted + failed < distinct(good)) {
    const what = `push ${run.id} counts ${accepted} accepted rows, of ${good.length} that can be`;
    violations.push(violated('G2', what, { ...at, superseded }));
  }
  return violations;
}

function identityOf({ pipe, version }: PipeRow): string {
  return `${pipe}\0${version}`;
}

function spanOf({ run: { requestedMs, finishedMs = Infinity } }: Push, lateMs: number) {
  return { fromMs: requestedMs, toMs: finishedMs + lateMs };
}

/** Whether no other push that has the pipe was under way within the time of this one. */
function isAlone(push: Push, pipe: string, { senders, rules }: Context): boolean {
  const own = spanOf(push, rules.lateRequestMs);
  return senders.every((other) => {
    const span = spanOf(other, rules.lateRequestMs);
    return other === push || !other.rowsByPipe.has(pipe) || span.toMs < own.fromMs || span.fromMs > own.toMs;
  });
}

/**
 * G5: each pipe that the service applied is a row of the file of a push that was under way. What a wire held back may come
 * after the end of its run.
 */
function violationsOfBodies(pushes: readonly Push[], evidence: Evidence, rules: CheckRules): readonly Violation[] {
  if (pushes.some(({ file }) => !file.isWide)) return [];
  const { clockSlackMs, lateRequestMs } = rules;
  return evidence.service.requests.flatMap(({ no, arrivedMs: atMs, pipes = [] }) => {
    const open = pushes.filter((push) => {
      const { fromMs, toMs } = spanOf(push, lateRequestMs);
      return (
        fromMs - clockSlackMs <= atMs &&
        (toMs >= atMs || disturbancesIn(evidence, { fromMs: toMs, toMs: atMs }).length > 0)
      );
    });
    const strange = pipes.filter((body) =>
      open.every(({ rowsByPipe }) => (rowsByPipe.get(pipeOf(body)) ?? []).every((row) => !isSame(row.body, body))),
    );
    if (strange.length === 0) return [];
    const what = `${strange.length} pipes of a request are in no file of a push that was under way`;
    return [violated('G5', what, { atMs, request: no, pipes: strange.slice(0, 2) })];
  });
}

/** Whether a client may have given the request up while the service still worked it ("Pushes" of what cannot be promised). */
function wasGivenUp({ status, arrivedMs, answeredMs }: ServiceRequest, { givenUpAfterMs }: CheckRules): boolean {
  return status === 0 || answeredMs === undefined || answeredMs - arrivedMs > givenUpAfterMs;
}

/**
 * G5: each version of a pipe that a push which is done did not reject was applied within its time as the last row of the file
 * has it; and of a pipe that no other push had meanwhile, the last version that was sent is the last one of the file.
 */
function violationsOfSent(push: Push, context: Context): readonly Violation[] {
  const { evidence, refused, rules, sent } = context;
  const { run, rowsByPipe, counts } = push;
  if (run.state !== 'done' || (counts['failed'] ?? 0) > 0) return [];
  const span = spanOf(push, rules.lateRequestMs);
  return [...rowsByPipe].flatMap(([pipe, rows]) => {
    if (rows.some(({ sourceId }) => refused.has(sourceId))) return [];
    const own = (sent.get(pipe) ?? []).filter(
      ({ request: { arrivedMs } }) => arrivedMs >= span.fromMs - rules.clockSlackMs && arrivedMs <= span.toMs,
    );
    const at = { runId: run.id, pipe: pipe.replace('\0', '/'), atMs: run.finishedMs };
    const missing = lastOfEach(rows).filter((row) => !own.some(({ body }) => isSame(body, row.body)));
    if (missing.length > 0) {
      return [violated('G5', `push ${run.id} is done, and the service never got ${missing.length} rows of a pipe`, at)];
    }
    if (!isAlone(push, pipe, context)) return [];
    return orderedRows(rows, evidence).flatMap((row) => {
      const last = own.findLast(({ body }) => isOfOrder(body, row, evidence));
      if (last === undefined || isSame(last.body, row.body) || wasGivenUp(last.request, rules)) return [];
      const what = `the last that push ${run.id} sent of a pipe is not the last row of its file`;
      return [violated('G5', what, { ...at, atMs: last.request.arrivedMs, sent: last.body, wanted: row.body })];
    });
  });
}

/** The last row of each version. */
function lastOfEach(rows: readonly PipeRow[]): readonly PipeRow[] {
  return [...new Map(rows.map((row) => [identityOf(row), row])).values()];
}

/** The rows that the service ends with: the last of the pipe, or the last of each of its dates. */
function orderedRows(rows: readonly PipeRow[], { service }: Evidence): readonly PipeRow[] {
  return service.manner.pipesByDate ? lastOfEach(rows) : rows.slice(-1);
}

function isOfOrder(body: RecordBody, row: PipeRow, { service }: Evidence): boolean {
  return pipeOf(body) === row.pipe && (!service.manner.pipesByDate || versionOf(body['date']) === row.version);
}

/**
 * G5: a pipe ends at the service as the last row of the last push that has it, if that one is done, and no other push that has
 * it was under way with it.
 */
function endsOfPipes(context: Context): { readonly violations: readonly Violation[]; readonly pipes: number } {
  const { evidence, refused, rules, senders, sent } = context;
  const stored = groupedBy(Object.values(evidence.service.pipes), pipeOf);
  const pipes = new Set(senders.flatMap(({ rowsByPipe }) => [...rowsByPipe.keys()]));
  const violations: Violation[] = [];
  let compared = 0;
  for (const pipe of pipes) {
    const having = senders.filter(({ rowsByPipe }) => rowsByPipe.has(pipe));
    const last = having.reduce((latest, push) => (push.run.requestedMs > latest.run.requestedMs ? push : latest));
    const rows = last.rowsByPipe.get(pipe) ?? [];
    const isRefused = rows.some(({ sourceId }) => refused.has(sourceId));
    if (last.run.state !== 'done' || (last.counts['failed'] ?? 0) > 0 || isRefused || !isAlone(last, pipe, context))
      continue;
    const lastSent = sent.get(pipe)?.at(-1);
    if (lastSent !== undefined && wasGivenUp(lastSent.request, rules)) continue;
    for (const row of orderedRows(rows, evidence)) {
      compared += 1;
      const ends = (stored.get(pipe) ?? []).filter((body) => isOfOrder(body, row, evidence));
      if (ends.some((body) => isSame(body, row.body))) continue;
      const what = `pipe ${pipe.replace('\0', '/')} does not end as the last row of push ${last.run.id}`;
      violations.push(violated('G5', what, { runId: last.run.id, atMs: last.run.finishedMs, wanted: row.body, ends }));
    }
  }
  return { violations, pipes: compared };
}
