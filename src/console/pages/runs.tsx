/** The list of runs, with filters. */
import type { ComponentChildren, JSX } from 'preact';
import { z } from 'zod';
import { requestRunList } from '../../app/runs/find-runs.ts';
import type { RunDocument } from '../../app/runs/run-document.ts';
import { jobDescriptionOf, readKeptRuns, type RunListDocument, withLiveFigures } from '../../app/runs/run-status.ts';
import { counted, durationText, figure } from '../../core/base/text.ts';
import { type JobDescription, wholeOf } from '../../core/run/job-description.ts';
import { Choice, Field } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { type Column, Empty, Name, Remark, Progress, RunLink, RunStateMark, Table, Time } from './parts.tsx';
import type { Pages } from './routes.tsx';

export function addRunListPage(pages: Pages): void {
  const { app, reader } = pages.context;
  const text = z.string().max(500).default('');
  pages.add({
    url: '/runs',
    query: z.object({ state: text, job: text, since: text, cursor: text }),
    page: async ({ frame }, { query }) => {
      const filter = { state: query.state, job: query.job, since: query.since };
      const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));
      const asked = requestRunList({ limit: 50, ...given }, { timeZone: app.config.timeZone });
      const { value } = await reader.read(`runs ${JSON.stringify(asked)}`, () => readKeptRuns(app, asked));
      return <RunsPage frame={frame} list={await withLiveFigures(app, value)} jobs={app.jobs} filter={filter} />;
    },
  });
}

/** The filters as they were requested; empty for none. */
export interface RunFilterFields {
  readonly state: string;
  readonly job: string;
  readonly since: string;
}

interface RunsProps {
  readonly frame: Frame;
  readonly list: RunListDocument;
  readonly jobs: readonly JobDescription[];
  readonly filter: RunFilterFields;
}

const states = ['queued', 'running', 'done', 'failed', 'cancelled', 'interrupted'] as const;

function RunsPage({ frame, list, jobs, filter }: RunsProps): JSX.Element {
  const isFiltered = Object.values(filter).some((value) => value !== '');
  return (
    <Page {...frame} title="Runs" section="Runs">
      <div class="title">
        <h1>Runs</h1>
      </div>
      <form method="get" action="/runs" class="row">
        <Choice label="State" name="state" value={filter.state} choices={[['', 'any'], ...pairs(states)]} />
        <Choice
          label="Job"
          name="job"
          value={filter.job}
          choices={[['', 'any'], ...pairs(jobs.map(({ name }) => name))]}
        />
        <Field label="Requested since">
          <input type="date" name="since" value={filter.since} />
        </Field>
        <button type="submit">Filter</button>
        {isFiltered ? (
          <a class="button" href="/runs">
            Clear
          </a>
        ) : null}
      </form>
      <LiveFault list={list} />
      <section class="panel">
        {list.runs.length === 0 ? <NoRuns isFiltered={isFiltered} /> : <RunTable runs={list.runs} jobs={jobs} />}
        {list.cursor === null ? null : (
          <a class="button" href={`/runs?${new URLSearchParams({ ...filter, cursor: list.cursor }).toString()}`}>
            Older runs
          </a>
        )}
      </section>
    </Page>
  );
}

function pairs(values: readonly string[]): ReadonlyArray<readonly [string, string]> {
  return values.map((value) => [value, value]);
}

function NoRuns({ isFiltered }: { readonly isFiltered: boolean }): JSX.Element {
  if (isFiltered) {
    return (
      <Empty title="No run fits these filters">
        <a href="/runs">Show all runs</a>
      </Empty>
    );
  }
  return (
    <Empty title="No run yet">
      <p>
        Start the first one with <code>wellsync export daily-production --uwi UWI --wait</code>, or{' '}
        <a href="/push">push a file</a>.
      </p>
    </Empty>
  );
}

function LiveFault({ list: { liveFault, unattendedJobs } }: { readonly list: RunListDocument }): JSX.Element | null {
  if (liveFault !== null) {
    return (
      <Remark tone="warn" title="Live figures are missing">
        <p>{liveFault}. The figures of running runs are those of the warehouse. This page looks again by itself.</p>
      </Remark>
    );
  }
  if (unattendedJobs.length === 0) return null;
  return (
    <Remark tone="warn" title="No worker is running">
      <p>
        Runs of {unattendedJobs.join(', ')} wait for one. Start it with <code>wellsync worker</code>.
      </p>
    </Remark>
  );
}

interface RunTableProps {
  /** Without the columns that a glance does without. */
  readonly isShort?: boolean;
  readonly runs: readonly RunDocument[];
  readonly jobs: readonly JobDescription[];
}

export function RunTable({ runs, jobs, isShort = false }: RunTableProps): JSX.Element {
  const columns = runColumns.filter(({ isDetail }) => !(isShort && isDetail === true));
  return (
    <Table
      caption="Runs, the newest first"
      columns={columns}
      rows={runs.map((run) => {
        const job = jobDescriptionOf(run.job, jobs);
        return { key: run.runId, cells: columns.map(({ cell }) => cell(run, job)) };
      })}
    />
  );
}

interface RunColumn extends Column {
  readonly isDetail?: boolean;
  readonly cell: (run: RunDocument, job: JobDescription) => ComponentChildren;
}

const runColumns: readonly RunColumn[] = [
  { title: 'Run', cell: ({ runId }) => <RunLink runId={runId} /> },
  { title: 'State', cell: ({ state, hasExceptions }) => <RunStateMark state={state} hasExceptions={hasExceptions} /> },
  { title: 'Job', cell: ({ job }) => job },
  { title: 'Requested', cell: ({ requestedAt }) => <Time at={requestedAt} /> },
  {
    title: 'Took',
    isNumber: true,
    isDetail: true,
    cell: ({ durationMs }) => (durationMs === null ? '' : durationText(durationMs)),
  },
  { title: 'Units', isNumber: true, isDetail: true, cell: (run, job) => <UnitsCell run={run} job={job} /> },
  { title: 'Rows', isNumber: true, isDetail: true, cell: rowsText },
  {
    title: 'By',
    isWideOnly: true,
    isDetail: true,
    cell: ({ requestedBy }) => (requestedBy === null ? '' : <Name>{requestedBy}</Name>),
  },
];

function rowsText({ counts }: RunDocument, job: JobDescription): string {
  const rows = counts[wholeOf(job) ?? ''];
  return job.record === undefined || rows === undefined ? '' : figure(rows);
}

function UnitsCell({ run, job }: { readonly run: RunDocument; readonly job: JobDescription }): JSX.Element {
  const { state, settledUnits } = run;
  const whole = run.units ?? run.targets;
  if (whole === null) return <span class="muted">–</span>;
  if (state === 'running' && settledUnits !== null && whole > 0) {
    return <Progress done={settledUnits} whole={whole} label={`${figure(settledUnits)} of ${figure(whole)}`} />;
  }
  return <span>{counted(whole, job.units.one, job.units.many)}</span>;
}
