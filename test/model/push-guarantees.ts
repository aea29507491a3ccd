/** What holds of pushes at any moment, by the number of its guarantee (docs/guarantees.md): each answer is a violation. */
import { decodeCheckpoint, type PushCheckpoint } from '../../src/core/pipes/checkpoint.ts';
import type { RunReport } from '../../src/core/run/run.ts';
import { token } from './memory-client.ts';
import type { ModelFile, ModelItem } from './pipe-texts.ts';
import type { PushScene } from './push-commands.ts';
import { bugsIn, reportOf, secretsIn, storedRuns, unended } from './world-guarantees.ts';
import type { Asked } from './world.ts';

export async function pushViolations(scene: PushScene): Promise<readonly string[]> {
  const { world, service, files, fileOf } = scene;
  const runs = await storedRuns(world);
  const ends = runs.flatMap((run) => {
    const [report, file] = [reportOf(run), fileOf.get(run.runId)];
    return report === undefined || file === undefined ? [] : [{ report, file }];
  });
  return [
    ...service.violations,
    ...(await unended(world, runs)),
    ...(await chunkViolations(scene, world)),
    ...ends.flatMap(({ report, file }) => [
      ...balanceOf(report, file),
      ...(report.units.done === 1 ? rejectsOf(scene, report, file) : []),
      ...(report.units.done === 1 ? storedOf(scene, report, file) : []),
    ]),
    ...secretsIn(world, runs),
    ...world.requested.flatMap((id) => (files.rejectsOf(id).includes(token) ? ['G10: rejects show the token'] : [])),
    ...bugsIn(world),
  ];
}

/** Those of the chunks, which a copy has as well. */
export async function chunkViolations(scene: PushScene, asked: Asked): Promise<readonly string[]> {
  return [...(await checkpointsAhead(scene, asked)), ...(await chunksOnce(asked))];
}

/** G2: every row that a run has passed is accounted for, and those of a whole file are all of its rows. */
function* balanceOf({ runId, counts, units }: RunReport, { items }: ModelFile): Generator<string> {
  const count = (name: string): number => counts[name] ?? 0;
  const parts = ['accepted', 'superseded', 'rejectedByUs', 'rejectedByService', 'failed'].map(count);
  const sum = parts.reduce((total, part) => total + part, 0);
  if (count('rows') !== sum) yield `G2: ${runId} has ${count('rows')} rows, and accounts for ${sum}`;
  const settled = units.done + units.held + units.failed + units.cancelled;
  if (settled !== units.total) yield `G2: ${runId} has ${units.total} units, and accounts for ${settled}`;
  const [rows, rejected] = [linesOf(items), linesOf(items.filter(({ kind }) => kind === 'rejected'))];
  if (count('rows') > rows) yield `G2: ${runId} has ${count('rows')} rows of ${rows}`;
  if (units.done === 0) return;
  if (count('rows') !== rows) yield `G2: ${runId} is done with ${count('rows')} rows of ${rows}`;
  if (count('rejectedByUs') !== rejected) yield `G2: ${runId} rejects ${count('rejectedByUs')} rows of ${rejected}`;
}

/** G2: each row that was not stored is in the rejects once. */
function* rejectsOf(
  { files, service }: PushScene,
  { runId, counts }: RunReport,
  { items }: ModelFile,
): Generator<string> {
  const lines = files.rejectsOf(runId).trimEnd().split('\n').slice(1);
  const found = new Map<string, number>();
  for (const line of lines) {
    const row = /row (\w+-\d+)/.exec(line)?.[1] ?? line;
    found.set(row, (found.get(row) ?? 0) + 1);
  }
  const { rejectedByUs = 0, rejectedByService = 0, failed = 0 } = counts;
  const sum = rejectedByUs + rejectedByService + failed;
  if (lines.length !== sum) yield `G2: ${runId} counts ${sum} rejects, and its file has ${lines.length}`;
  for (const item of items) {
    const times = found.get(item.row) ?? 0;
    const mayBeThere = item.kind !== 'good' || service.refused.has(item.row) || failed > 0;
    const mustBeThere = item.kind === 'rejected' || (item.kind === 'refused' && isLastOfVersion(items, item));
    const isRight = (times === item.lines && mayBeThere) || (times === 0 && !mustBeThere);
    if (!isRight) yield `G2: ${runId} has ${item.row}, which is ${item.kind}, ${times} times in its rejects`;
  }
}

/** G5: after a push during which no other sent this file, the service has the last row of each pipe and date. */
function* storedOf(
  { service, fileOf, identity }: PushScene,
  { runId, counts }: RunReport,
  { name, items }: ModelFile,
): Generator<string> {
  const from = service.sent.findIndex((sent) => sent.runId === runId);
  const others = service.sent
    .slice(from)
    .filter((sent) => sent.runId !== runId && fileOf.get(sent.runId)?.name === name);
  if (from < 0 || others.length > 0 || (counts['failed'] ?? 0) > 0) return;
  const sent = items.filter(({ kind }) => kind !== 'rejected');
  const byVersion = { by: 'version', kept: service.byVersion } as const;
  const byPipe = { by: 'pipe', kept: service.byPipe } as const;
  for (const { by, kept } of identity === 'unknown' ? [byVersion, byPipe] : [byVersion]) {
    for (const key of new Set(sent.map((item) => item[by]))) {
      const rows = sent.filter((item) => item[by] === key);
      // A refused row leaves the one before it, or none where it has superseded that.
      if (rows.some(({ row, kind }) => kind === 'refused' || service.refused.has(row))) continue;
      const last = rows.at(-1)?.row;
      if (kept.get(key) !== last) yield `G5: after ${runId} the ${by} ${key} is ${kept.get(key)} and not ${last}`;
    }
  }
}

/** G2, G5: a checkpoint passes no row of which no worker of the run has heard, but for one that a later row supersedes. */
async function checkpointsAhead({ service, files, fileOf }: PushScene, asked: Asked): Promise<readonly string[]> {
  const pushes = await asked.rows<{ runId: string; checkpoint: string | null }>(
    'SELECT run_id AS "runId", checkpoint::VARCHAR AS checkpoint FROM push',
  );
  return pushes.flatMap(({ runId, checkpoint }) => {
    const { position }: Partial<PushCheckpoint> = checkpoint === null ? {} : decodeCheckpoint(checkpoint);
    const items = fileOf.get(runId)?.items ?? [];
    const passed = items.filter(({ endLine }) => position !== undefined && endLine <= position.line);
    // A row that was given up without an answer is in the rejects.
    const rejects = files.rejectsOf(runId);
    const ahead = passed.filter((item) => {
      const isKnown = service.hasHeard(runId, item.row) || rejects.includes(`row ${item.row},`);
      return item.kind !== 'rejected' && isLastOfVersion(items, item) && !isKnown;
    });
    return ahead.map(({ row }) => `G5: the checkpoint of ${runId} has passed ${row}, which has no answer`);
  });
}

/** G1: a chunk is in the ledger once. */
async function chunksOnce(asked: Asked): Promise<readonly string[]> {
  const twice = await asked.rows<{ runId: string; chunk: number }>(
    'SELECT run_id AS "runId", chunk FROM push_ledger GROUP BY run_id, chunk HAVING count(*) > 1',
  );
  return twice.map(({ runId, chunk }) => `G1: ${runId} has chunk ${chunk} twice in its ledger`);
}

function isLastOfVersion(items: readonly ModelItem[], { version, row }: ModelItem): boolean {
  return items.findLast((item) => item.version === version && item.kind !== 'rejected')?.row === row;
}

function linesOf(items: readonly ModelItem[]): number {
  return items.reduce((sum, { lines }) => sum + lines, 0);
}
