/** One run: what it is, how far it is, what came of it, and what can be done now. */
import type { JSX } from 'preact';
import { z } from 'zod';
import { standingHolds } from '../../app/runs/release.ts';
import { needsOfRetry, type RetryNeeds } from '../../app/runs/retry.ts';
import {
  balanceSentence,
  type HeldDocument,
  isUnplanned,
  type ReportDocument,
  reportDocument,
  shownCounts,
  wholeFault,
} from '../../app/runs/run-document.ts';
import { readRunLog, type RunLogLine } from '../../app/runs/run-log.ts';
import { paceOf, rowsOf } from '../../app/runs/run-progress.ts';
import { jobDescriptionOf, type LiveRunDocument, showRun } from '../../app/runs/run-status.ts';
import type { NextAction } from '../../core/base/action.ts';
import { counted, durationText, figure, roughDurationText, spacedName } from '../../core/base/text.ts';
import type { JobDescription } from '../../core/run/job-description.ts';
import type { RunFailure } from '../../core/run/run.ts';
import type { ConsoleContext } from '../context.ts';
import { RequestProblem } from '../problem.ts';
import { ActionButton, ActionForm, Field, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import {
  Empty,
  Facts,
  Figures,
  Name,
  Remark,
  Panel,
  Progress,
  RunStateMark,
  type ShownFigure,
  State,
  Table,
  Time,
  type Tone,
} from './parts.tsx';
import type { Pages } from './routes.tsx';

export function addRunPages(pages: Pages): void {
  const params = z.object({ runId: z.string().max(60) });
  pages.add({
    url: '/runs/:runId',
    params,
    page: async ({ frame, caller }, { params: { runId } }, reply) => {
      const shown = await runOf(pages.context, runId, caller);
      if (shown !== undefined) return <RunPage frame={frame} shown={shown} />;
      void reply.code(404);
      return <NoSuchRun frame={frame} runId={runId} />;
    },
  });
  pages.addPart('/runs/:runId/live', async (request) => {
    const { runId } = request.params as z.output<typeof params>;
    const { caller } = await pages.shown(request);
    const shown = await runOf(pages.context, runId, caller);
    if (shown === undefined) throw new RequestProblem(404, 'no-such-run', `there is no run ${runId}`);
    return { element: <RunBody {...shown} />, isEnded: shown.report !== undefined };
  });
}

async function runOf({ app, reader }: ConsoleContext, runId: string, caller: Reader): Promise<ShownRun | undefined> {
  const { value: run } = await reader.read(`run ${runId}`, () => app.ledger.runs.read(runId));
  if (run === undefined) return undefined;
  const job = jobDescriptionOf(run.job, app.jobs);
  const report = run.report && reportDocument(run.report, job, ({ hint }) => hint);
  const { value: retry } = await reader.read(`retry ${runId} ${run.generation} ${run.state}`, () =>
    needsOfRetry(app, run),
  );
  const log = await readRunLog(app, runId);
  const { value: held } = await reader.read(`holds ${runId}`, () => standingHolds(app, run));
  return { run: await showRun(app, run), report, job, retry, log, held, reader: caller, nowMs: Date.now() };
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
  readonly reader: Reader;
  readonly nowMs: number;
}

function RunPage({ frame, shown }: { readonly frame: Frame; readonly shown: ShownRun }): JSX.Element {
  const { run } = shown;
  return (
    <Page {...frame} title={`Run ${run.runId}`} section="Runs">
      <div id="live" data-live={`/runs/${encodeURIComponent(run.runId)}/live`} data-ended={String(isEnded(run))}>
        <RunBody {...shown} />
      </div>
    </Page>
  );
}

function isEnded({ state }: Pick<LiveRunDocument, 'state'>): boolean {
  return state !== 'queued' && state !== 'running';
}

/** The part that the script replaces while the run goes on. */
function RunBody(shown: ShownRun): JSX.Element {
  const { run, report } = shown;
  return (
    <div class="body">
      <div class="title">
        <h1>{run.job}</h1>
        <RunStateMark state={run.state} hasExceptions={run.hasExceptions} isBadge />
        <div class="actions">
          <Actions {...shown} />
        </div>
      </div>
      {report === undefined ? <Going {...shown} /> : <Outcome {...shown} report={report} />}
      <Held {...shown} />
      <Log lines={shown.log} />
      <Panel title="About this run">
        <Facts facts={factsOf(run, report)} />
        <details>
          <summary>Parameters</summary>
          <pre>{JSON.stringify(run.parameters, undefined, 2)}</pre>
        </details>
      </Panel>
    </div>
  );
}

function factsOf(run: LiveRunDocument, report: ReportDocument | undefined) {
  const { retries, requestedBy } = run;
  const { releaseOf: released } = (run.parameters ?? {}) as { readonly releaseOf?: string };
  return [
    ['Run', <code>{run.runId}</code>],
    [
      'Requested',
      [<Time at={run.requestedAt} />, ...(requestedBy === null ? [] : [' by ', <Name>{requestedBy}</Name>])],
    ],
    ...(released === undefined
      ? []
      : [['Releases rows of', <a href={`/runs/${encodeURIComponent(released)}`}>{released}</a>] as const]),
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
    if (run.isStopping) return <State tone="idle" label="stopping" isBadge />;
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
      return <Link href={`${path}/rejects`} label="Download the rejected rows" isDownload />;
    case 'release-rows':
      // Beside what is held (Held).
      return null;
    case 'show-quarantine':
      return <Link href="/coverage" label="Show the coverage" />;
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
            <Name>{target}</Name>,
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
  const { role: needs, openTargets } = retry;
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

function Going({ run, job, nowMs }: ShownRun): JSX.Element {
  const { units, counts, liveFault, isUnattended, hold, outage, startedAt } = run;
  const settled = run.settledUnits ?? 0;
  return (
    <>
      {liveFault === null ? null : (
        <Remark tone="warn" title="Live figures are missing">
          <p>{liveFault}. The run itself goes on; this page looks again by itself.</p>
        </Remark>
      )}
      {isUnattended === true ? (
        <Remark tone="warn" title="No worker is running">
          <p>
            The run waits for one. Start it with <code>wellsync worker</code>.
          </p>
        </Remark>
      ) : null}
      {hold === null ? null : (
        <Remark tone="warn" title="The service asked all to wait">
          <p>
            Requests go on at <Time at={hold.until} />. <a href="/service">See the service</a>.
          </p>
        </Remark>
      )}
      {outage === null ? null : (
        <Remark tone="warn" title="The service is down">
          <p>
            Since <Time at={outage.since} />: <Name>{outage.fault}</Name>. The run goes on by itself at its first
            answer. <a href="/service">See the service</a>.
          </p>
        </Remark>
      )}
      <Panel title="Progress">
        {units === null || units === 0 ? (
          <p class="muted">{run.state === 'queued' ? 'Waiting for a worker to plan it.' : 'Not planned yet.'}</p>
        ) : (
          <>
            <Progress done={settled} whole={units} label={`${figure(settled)} of ${figure(units)} ${job.units.many}`} />
            <Figures
              figures={[
                {
                  name: job.units.many,
                  value: figure(settled),
                  remark: `of ${figure(units)}, ${Math.floor((100 * settled) / units)} %`,
                },
                ...shownCounts(counts, job).map(({ name, count, remark }) => ({
                  name: spacedName(name),
                  value: count,
                  remark,
                })),
                ...underWay(run),
                ...(startedAt === null
                  ? []
                  : [{ name: 'since its start', value: roughDurationText(nowMs - Date.parse(startedAt)) }]),
              ]}
            />
          </>
        )}
      </Panel>
    </>
  );
}

/** What is known of a run that goes on, beside its counts. */
function underWay({ chunks, chunksEnded, unitsInReading, rowsInReading }: LiveRunDocument): readonly ShownFigure[] {
  return [
    ...(chunks === null || chunksEnded === null
      ? []
      : [{ name: 'chunks', value: chunksEnded, remark: `of ${figure(chunks)}` }]),
    ...(unitsInReading === 0
      ? []
      : [{ name: 'being read', value: unitsInReading, remark: `${counted(rowsInReading, 'row')} so far` }]),
  ];
}

function Log({ lines }: { readonly lines: readonly RunLogLine[] }): JSX.Element | null {
  if (lines.length === 0) return null;
  return (
    <Panel title="Log" aside={<span class="small muted">{counted(lines.length, 'line')}, the latest first</span>}>
      <ul class="list log">
        {lines.toReversed().map(({ at, level, message, about }, index) => (
          <li key={String(lines.length - index)}>
            <span>
              <Time at={at} /> {level === 'info' ? null : <State tone={toneOfLevel(level)} label={level} />}{' '}
              <Name>{message}</Name>
            </span>
            <span class="small muted">
              {Object.entries(about).map(([name, value]) => (
                <span key={name}>
                  {name} <Name>{value}</Name>{' '}
                </span>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function toneOfLevel(level: string): Tone {
  return level === 'error' || level === 'fatal' ? 'bad' : 'warn';
}

function Outcome({ run, report, job }: ShownRun & { readonly report: ReportDocument }): JSX.Element {
  const fault = wholeFault(report, job);
  const advice = fault?.hint;
  const tone = report.state === 'failed' ? 'bad' : run.hasExceptions ? 'warn' : 'good';
  return (
    <>
      <Remark tone={report.state === 'done' || report.state === 'failed' ? tone : 'idle'}>
        <p class="lead">{report.sentence}</p>
        {advice === undefined ? null : <p>{advice}</p>}
      </Remark>
      {isUnplanned(report) ? null : <Counted report={report} job={job} />}
      {report.notices.length === 0 ? null : (
        <Panel title="Notices">
          <ul class="list">
            {report.notices.map((notice) => (
              <li key={notice}>
                <Name>{notice}</Name>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      <Differences report={report} />
      <Failures report={report} job={job} />
    </>
  );
}

/** Some of the fields that differ, each with what it is here and at the service. */
function Differences({ report: { differences } }: { readonly report: ReportDocument }): JSX.Element | null {
  if (differences === undefined) return null;
  const shown = (value: string | number | boolean | null): string => (value === null ? '' : String(value));
  return (
    <Panel title="Differences" aside={<span class="small muted">some, in {counted(differences.wells, 'well')}</span>}>
      <Table
        caption="Differences"
        columns={[
          { title: 'Well' },
          { title: 'Day' },
          { title: 'What' },
          { title: 'Field' },
          { title: 'Here' },
          { title: 'There' },
        ]}
        rows={differences.samples.map(({ uwi, day, kind, field, here, there }, index) => ({
          key: String(index),
          cells: [
            <Name>{uwi}</Name>,
            day ?? '',
            kind.replaceAll('-', ' '),
            field ?? '',
            <Name>{shown(here)}</Name>,
            <Name>{shown(there)}</Name>,
          ],
        }))}
      />
    </Panel>
  );
}

function Counted({ report, job }: { readonly report: ReportDocument; readonly job: JobDescription }): JSX.Element {
  const { durationMs } = report;
  const pace = paceOf(rowsOf(report, job), durationMs);
  return (
    <Panel title="Counts" aside={<Balance report={report} />}>
      <Figures
        figures={[
          ...(job.units.isSingle
            ? []
            : [{ name: job.units.many, value: report.units.total, remark: unitsText(report, job) }]),
          ...shownCounts(report.counts, job).map(({ name, count, remark }) => ({
            name: spacedName(name),
            value: count,
            remark,
          })),
          {
            name: 'duration',
            value: durationText(durationMs),
            ...(pace === undefined ? {} : { remark: `${figure(pace)} rows/s` }),
          },
        ]}
      />
    </Panel>
  );
}

/** Every record is accounted for (G2): the sum, with its figures. */
function Balance({ report: { balance } }: { readonly report: ReportDocument }): JSX.Element {
  return <span class={`balance ${balance.balanced ? 'good' : 'bad'}`}>{balanceSentence(balance)}</span>;
}

function unitsText({ units }: ReportDocument, { units: { held } }: JobDescription): string {
  return (['done', 'held', 'unknown', 'failed', 'cancelled'] as const)
    .filter((state) => (units[state] ?? 0) > 0)
    .map((state) => `${figure(units[state] ?? 0)} ${state === 'held' ? held : state}`)
    .join(', ');
}

function Failures(props: { readonly report: ReportDocument; readonly job: JobDescription }): JSX.Element | null {
  const { report, job } = props;
  const failures = report.failures.filter(({ message }) => message !== wholeFault(report, job)?.message);
  if (failures.length === 0) return null;
  const { one, many, held } = job.units;
  const more = report.units.failed + report.units.held - failures.length;
  return (
    <Panel title={`${many.replace(/^./, (letter) => letter.toUpperCase())} that failed or are ${held}`}>
      <Table
        caption="Failures"
        columns={[{ title: one }, { title: 'State' }, { title: 'Reason' }]}
        rows={failures.map((failure) => ({
          key: failure.target,
          cells: [<Name>{failure.target}</Name>, stateOf(failure, held), <Reason failure={failure} />],
        }))}
      />
      {more > 0 ? <p class="muted">and {counted(more, one, many)} more</p> : null}
    </Panel>
  );
}

function stateOf({ state }: RunFailure, held: string): string {
  return state === 'held' ? held : state;
}

function Reason({ failure }: { readonly failure: RunFailure }): JSX.Element {
  const { target, message, hint: advice } = failure;
  return (
    <span class="name">
      {message.startsWith(`${target}: `) ? message.slice(target.length + 2) : message}
      {advice === undefined ? null : <span class="muted"> {advice}</span>}
    </span>
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
