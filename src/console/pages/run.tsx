/** One run: what it covered, how far it is, what came of it, and what can be done now. */
import type { JSX } from 'preact';
import { z } from 'zod';
import type { App } from '../../app/app.ts';
import { type FilledWell, filledWells, readRunUnits, type RunUnitsDocument } from '../../app/runs/run-units.ts';
import { standingHolds } from '../../app/runs/release.ts';
import { needsOfRetry, type RetryNeeds } from '../../app/runs/retry.ts';
import { type HeldDocument, type ReportDocument, reportDocument } from '../../app/runs/run-document.ts';
import { readRunLog, type RunLogLine } from '../../app/runs/run-log.ts';
import { parametersInWords } from '../../app/runs/run-scope.ts';
import { jobDescriptionOf, type LiveRunDocument, showKeptRun, showRun } from '../../app/runs/run-status.ts';
import type { ReadsOfPage } from '../../app/warehouse/last-known.ts';
import type { NextAction } from '../../core/base/action.ts';
import { counted, durationText, figure, printable } from '../../core/base/text.ts';
import type { JobDescription } from '../../core/run/job-description.ts';
import { RequestProblem } from '../problem.ts';
import { ActionButton, ActionForm, Field, mayAct, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Facts, Name, OfUnknown, Panel, Person, RunLink, RunStateMark, State, Table, Time } from './parts.tsx';
import { correctionOf } from './push.tsx';
import type { Pages } from './routes.tsx';
import { Going, type LogFields, logFields, RunLog } from './run-live.tsx';
import {
  Failures,
  Headline,
  Outcome,
  RunWells,
  TargetName,
  type UnitFields,
  unitFields,
  unitQuestion,
} from './run-outcome.tsx';

const fieldsSchema = z.object({ ...unitFields, ...logFields });
type PageFields = UnitFields & LogFields;

export function addRunPages(pages: Pages): void {
  const { app } = pages.context;
  const params = z.object({ runId: z.string().max(60) });
  pages.add({
    url: '/runs/:runId',
    params,
    query: fieldsSchema,
    page: async ({ frame, reader, caller }, { params: { runId }, query }, reply) => {
      const shown = await runOf(app, { reader, caller }, runId, query);
      if (shown !== undefined) return <RunPage frame={frame} shown={shown} />;
      void reply.code(404);
      return <NoSuchRun frame={frame} runId={runId} />;
    },
  });
  pages.addPart(
    '/runs/:runId/live',
    async (read, request) => {
      const { runId } = request.params as z.output<typeof params>;
      const shown = await runOf(app, read, runId, request.query as PageFields);
      if (shown === undefined) throw new RequestProblem(404, 'no-such-run', `there is no run ${runId}`);
      return { element: <RunBody {...shown} />, isEnded: shown.report !== undefined };
    },
    fieldsSchema,
  );
}

async function runOf(
  app: App,
  { reader, caller }: { readonly reader: ReadsOfPage; readonly caller: Reader },
  runId: string,
  fields: PageFields,
): Promise<ShownRun | undefined> {
  const { value: run } = await reader.read(['run', runId], () => app.ledger.runs.read(runId));
  if (run === undefined) return undefined;
  const job = jobDescriptionOf(run.job, app.jobs);
  const report = run.report && reportDocument(run.report, job, ({ hint }) => hint);
  const at = `${runId} ${run.generation} ${run.state}`;
  const question = unitQuestion(fields);
  const { value: kept } = await reader.read(['run page', at, question], async () => ({
    retry: await needsOfRetry(app, run),
    held: await standingHolds(app, run),
    filled: await filledWells(app, run),
    units: await readRunUnits(app, run, question),
  }));
  const log = await reader.readLive(
    ['log', runId],
    () => readRunLog(app, runId),
    () => [],
  );
  const shown = await reader.readLive(
    ['run now', at],
    () => showRun(app, run, (key, work) => reader.readAside(key, work)),
    () => showKeptRun(app, run),
  );
  return { run: shown, report, job, log, ...kept, fields, reader: caller, nowMs: Date.now() };
}

interface ShownRun {
  readonly run: LiveRunDocument;
  /** Undefined for a run that has not ended. */
  readonly report: ReportDocument | undefined;
  readonly job: JobDescription;
  readonly retry: RetryNeeds;
  /** The last lines of the log about it, the latest last. */
  readonly log: readonly RunLogLine[];
  /** The rows of the run that are held until they are released; undefined for a run that holds none. */
  readonly held: HeldDocument | undefined;
  /** What is left of the days that it was to fill. */
  readonly filled: readonly FilledWell[];
  readonly units: RunUnitsDocument;
  /** What of it is shown. */
  readonly fields: PageFields;
  readonly reader: Reader;
  readonly nowMs: number;
}

function RunPage({ frame, shown }: { readonly frame: Frame; readonly shown: ShownRun }): JSX.Element {
  const { run, fields } = shown;
  return (
    <Page {...frame} title={`${printable(run.covers)} · ${run.title}`} section="Runs">
      <div id="live" data-live={addressOf(`${pathOf(run)}/live`, given(fields))} data-ended={String(isEnded(run))}>
        <RunBody {...shown} />
      </div>
    </Page>
  );
}

function pathOf({ runId }: Pick<LiveRunDocument, 'runId'>): string {
  return `/runs/${encodeURIComponent(runId)}`;
}

/** The fields that are not empty. */
function given(fields: Partial<PageFields>): Readonly<Record<string, string>> {
  const texts = Object.entries(fields).map(([name, value]) => [name, value === 0 ? '' : String(value)] as const);
  return Object.fromEntries(texts.filter(([, value]) => value !== ''));
}

function addressOf(path: string, fields: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(fields).toString();
  return query === '' ? path : `${path}?${query}`;
}

function isEnded({ state }: Pick<LiveRunDocument, 'state'>): boolean {
  return state !== 'queued' && state !== 'running';
}

/** The part that the script replaces while the run goes on. */
function RunBody(shown: ShownRun): JSX.Element {
  const { run, report, job, fields } = shown;
  const { unit, name, at, level, words, order } = fields;
  const linked = (anchor: string) => (changed: Readonly<Record<string, string>>) =>
    `${addressOf(pathOf(run), given({ ...fields, ...(changed as Partial<PageFields>) }))}#${anchor}`;
  return (
    <div class="body">
      <div class="title">
        <h1>
          <Name>{run.covers}</Name>
        </h1>
        {run.isStopping ? (
          <State tone="idle" label="stopping" isMoving isBadge />
        ) : (
          <RunStateMark state={run.state} hasExceptions={run.hasExceptions} isBadge />
        )}
        <span class="muted">{run.title}</span>
        <div class="actions">
          <Actions {...shown} />
        </div>
      </div>
      {report === undefined ? <Going {...shown} /> : <Headline {...shown} report={report} />}
      <Held {...shown} />
      {report === undefined ? null : (
        <>
          <Failures {...shown} report={report} />
          <Outcome report={report} job={job} retries={run.retries} />
        </>
      )}
      <RunWells
        job={run.job}
        description={job}
        units={shown.units}
        fields={fields}
        addressOf={linked('wells')}
        kept={given({ level, words, order })}
      />
      <Attempts {...shown} />
      <RunLog
        runId={run.runId}
        job={run.job}
        lines={shown.log}
        fields={fields}
        addressOf={linked('log')}
        kept={given({ unit, name, at })}
      />
      <Panel title="About this run">
        <Facts facts={factsOf(run, report)} />
        <details>
          <summary>Parameters</summary>
          <Facts facts={parameterFacts(run.parameters)} />
        </details>
      </Panel>
    </div>
  );
}

/** Each try of a retried run, the latest first. */
function Attempts({ run: { attempts, retries }, job }: ShownRun): JSX.Element | null {
  if (retries === 0) return null;
  const hasRows = job.record !== undefined;
  return (
    <Panel
      title="Attempts"
      aside={<span class="small muted">{counted(retries + 1, 'attempt')}, the latest first</span>}
    >
      <Table
        caption="Attempts of the run"
        columns={[
          { title: 'Attempt' },
          { title: 'State' },
          { title: 'What came of it' },
          { title: 'Requested by' },
          { title: 'Started' },
          { title: 'Took', isNumber: true },
          ...(hasRows
            ? [
                { title: 'Rows', isNumber: true },
                { title: 'Rows a second', isNumber: true },
              ]
            : []),
        ]}
        rows={attempts
          .toReversed()
          .map(({ number, state, sentence, by, startedAt, durationMs, rows, rowsPerSecond }) => ({
            key: String(number),
            cells: [
              String(number),
              <RunStateMark state={state} />,
              <Name>{sentence ?? ''}</Name>,
              <Person name={by} />,
              <Time at={startedAt} empty="not yet" hasSeconds />,
              durationMs === null ? '' : durationText(durationMs),
              ...(hasRows
                ? [rows === null ? '' : figure(rows), rowsPerSecond === null ? '' : figure(rowsPerSecond)]
                : []),
            ],
          }))}
      />
      {attempts.length === retries + 1 ? null : (
        <p class="muted">What became of the attempts before these was not kept.</p>
      )}
    </Panel>
  );
}

function parameterFacts(parameters: unknown) {
  return parametersInWords(parameters).map(
    ([name, value]) =>
      [name, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? <Time at={value} hasSeconds /> : <Name>{value}</Name>] as const,
  );
}

function factsOf(run: LiveRunDocument, report: ReportDocument | undefined) {
  const { retries, requestedBy } = run;
  const { releaseOf: released } = (run.parameters ?? {}) as { readonly releaseOf?: string };
  return [
    ['Run', <code>{run.runId}</code>],
    [
      'Requested',
      [<Time at={run.requestedAt} />, ...(requestedBy === null ? [] : [' by ', <Person name={requestedBy} />])],
    ],
    ...(released === undefined ? [] : [['Releases rows of', <RunLink runId={released} />] as const]),
    ['Started', <Time at={run.startedAt} empty="not yet" />],
    ['Ended', <Time at={run.finishedAt} empty="not yet" />],
    ...(retries === 0 ? [] : [['Retried', counted(retries, 'time')] as const]),
    ['Service', <Name>{report?.service ?? run.service ?? 'not known'}</Name>],
    ...(report === undefined || report.warehouse === null
      ? []
      : [['Warehouse', <Name>{report.warehouse}</Name>] as const]),
  ] as const;
}

function Actions({ run, report, retry, reader }: ShownRun): JSX.Element | null {
  const asks = `POST /api/v1/runs/${encodeURIComponent(run.runId)}`;
  if (!isEnded(run)) {
    if (run.isStopping) return null;
    return <ActionButton asks={`${asks}/cancel`} reader={reader} label="Cancel" kind="danger" />;
  }
  return (
    <>
      {(report?.nextSteps ?? []).map((step, index) => (
        <Step key={`${step.kind} ${index}`} step={step} run={run} retry={retry} reader={reader} />
      ))}
    </>
  );
}

interface StepProps {
  readonly step: NextAction;
  readonly run: LiveRunDocument;
  readonly retry: RetryNeeds;
  readonly reader: Reader;
}

/** A link to see more, or a button where the reader may act. */
function Step({ step, run, retry, reader }: StepProps): JSX.Element | null {
  const path = `/api/v1/runs/${encodeURIComponent(run.runId)}`;
  switch (step.kind) {
    case 'backfill': {
      const { uwis, from, to } = step;
      const body = { export: 'daily-production', ...(uwis === null ? { fromWarehouse: true } : { uwis }), from, to };
      const wells = uwis === null ? 'all wells' : counted(uwis.length, 'well');
      return (
        <ActionButton
          asks="POST /api/v1/runs"
          reader={reader}
          body={body}
          label={`Read ${wells} again from ${from} to ${to}`}
        />
      );
    }
    case 'retry-run':
      return <Retry asks={`POST ${path}/retry`} retry={retry} reader={reader} />;
    case 'get-rejects':
      return (
        <>
          <Link href={`${path}/rejects`} label="Download the rejected rows" isDownload />
          {mayAct(reader) ? <Link href={correctionOf(run.runId)} label="Push corrected rows" /> : null}
        </>
      );
    case 'release-rows':
      // Beside what is held (Held).
      return null;
    case 'show-coverage':
      return <Link href="/coverage" label="Show the coverage" />;
    case 'show-quarantine':
      return <Link href="/coverage?show=attention" label="Show the wells with quarantined records" />;
    case 'show-unknown-definitions':
      // The pages list unknown wells of daily production alone.
      return null;
    case 'show-unknown':
      return <Link href="/coverage/unknown" label="Show unknown wells" />;
    case 'show-stale':
      return <Link href="/coverage/stale" label="Show stale wells" />;
    case 'audit-run':
      return null;
    case 'list-alerts':
      return <Link href="/" label="See what is open" />;
    case 'plan-cleanup':
      return <Link href="/cleanup" label="Make a new plan" />;
  }
}

/** What is held of a run, with the one act that lets it go. */
function Held({ run, held, reader }: ShownRun): JSX.Element | null {
  if (held === undefined || held.rows === 0) return null;
  const rows = counted(held.rows, 'row');
  const more = held.holds - held.parts.length;
  return (
    <Panel title="Held rows" aside={<span class="small muted">{rows}</span>}>
      <p>
        The service no longer has these rows. They stay in the warehouse, in every later run, until they are back or
        somebody with the role <code>delete</code> releases them.
      </p>
      <Table
        caption="Held rows"
        columns={[
          { title: 'Of' },
          { title: 'Month' },
          { title: 'Missing days' },
          { title: 'Rows', isNumber: true },
          { title: 'Since' },
        ]}
        rows={held.parts.map(({ target, month, firstDay, lastDay, rows: missing, since }) => ({
          key: `${target} ${month ?? ''}`,
          cells: [
            <TargetName job={run.job} target={target} />,
            month ?? '',
            firstDay === lastDay ? (firstDay ?? '') : `${firstDay} to ${lastDay}`,
            figure(missing),
            <Time at={since} />,
          ],
        }))}
      />
      {more > 0 ? <p class="muted">and {counted(more, 'more hold')}</p> : null}
      <ActionForm
        asks={`POST /api/v1/runs/${encodeURIComponent(run.runId)}/release`}
        reader={reader}
        needs="delete"
        body={{ rows: held.rows }}
      >
        <label class="check">
          <input type="checkbox" required /> {rows} leave the warehouse if the service still does not have them
        </label>
        <button type="submit" class="danger">
          Release {rows}
        </button>
      </ActionForm>
    </Panel>
  );
}

/** What deletes is confirmed by the number of targets, as the plan was. */
function Retry({ asks, retry, reader }: Pick<StepProps, 'retry' | 'reader'> & { asks: string }): JSX.Element {
  const { role: needs, openTargets, isOfUnknown } = retry;
  if (isOfUnknown) return <OfUnknown />;
  const form = { asks, reader, needs };
  if (openTargets === undefined) return <ActionButton {...form} label="Retry what is not done" kind="first" />;
  return (
    <ActionForm {...form}>
      <Field label={`It deletes: number of targets that are left (${figure(openTargets)})`}>
        <input name="targets" data-type="number" inputMode="numeric" pattern="[0-9]+" required autocomplete="off" />
      </Field>
      <button type="submit" class="danger">
        Delete {counted(openTargets, 'target')}
      </button>
    </ActionForm>
  );
}

function Link({ href, label, isDownload = false }: { href: string; label: string; isDownload?: boolean }): JSX.Element {
  return (
    <a class="button" href={href} download={isDownload}>
      {label}
    </a>
  );
}

function NoSuchRun({ frame, runId }: { readonly frame: Frame; readonly runId: string }): JSX.Element {
  return (
    <Page {...frame} title="No such run" section="Runs">
      <section class="panel">
        <Empty title="No such run">
          <p>
            The warehouse has no run <Name>{runId}</Name>.
          </p>
          <a href="/runs">Show all runs</a>
        </Empty>
      </section>
    </Page>
  );
}
