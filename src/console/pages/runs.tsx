/** The list of runs: how many of each state, filters, and what each one covered. It stays as it is now. */
import type { ComponentChildren, JSX } from 'preact';
import { z } from 'zod';
import type { App } from '../../app/app.ts';
import { requestRunList } from '../../app/runs/find-runs.ts';
import type { RunDocument } from '../../app/runs/run-document.ts';
import { jobTitle } from '../../app/runs/run-scope.ts';
import {
  countRuns,
  jobDescriptionOf,
  readKeptRuns,
  type RunListDocument,
  keptList,
  withLiveFigures,
} from '../../app/runs/run-status.ts';
import type { ReadsOfPage } from '../../app/warehouse/last-known.ts';
import { durationText, figure, printable } from '../../core/base/text.ts';
import { type JobDescription, wholeOf } from '../../core/run/job-description.ts';
import { Choice, Field, mayAct, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { type Column, Empty, Name, Person, Remark, Progress, RedisAway, RunStateMark, Table, Time } from './parts.tsx';
import type { Pages } from './routes.tsx';

const text = z.string().max(1_000).default('');

const stateTabs = [
  ['queued', 'queued'],
  ['running', 'running'],
  ['done', 'done'],
  ['exceptions', 'with exceptions'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['interrupted', 'interrupted'],
] as const;

/** In the address; empty for none. */
const querySchema = z.object({
  state: z.enum(['', ...stateTabs.map(([state]) => state)]).catch(''),
  job: text,
  well: text,
  schedule: text,
  by: text,
  since: text,
  lastDay: text,
  cursor: text,
  newer: text,
});
type RunsQuery = z.output<typeof querySchema>;
type ListedState = Exclude<RunsQuery['state'], ''>;

type RunNumbers = Awaited<ReturnType<typeof countRuns>>;

export function addRunListPage(pages: Pages): void {
  pages.add({
    url: '/runs',
    query: querySchema,
    page: async ({ frame, reader, caller }, { query }) => {
      const shown = await shownRuns(pages.context.app, reader, query);
      return <RunsPage frame={frame} reader={caller} {...shown} />;
    },
  });
  pages.addPart(
    '/runs/live',
    async ({ reader }, { query }) => ({
      element: <RunsBody {...await shownRuns(pages.context.app, reader, query as RunsQuery)} />,
      isEnded: false,
    }),
    querySchema,
  );
}

interface ShownRuns {
  readonly list: RunListDocument;
  readonly numbers: RunNumbers;
  readonly jobs: readonly JobDescription[];
  readonly schedules: readonly string[];
  readonly query: RunsQuery;
}

async function shownRuns(app: App, reader: ReadsOfPage, query: RunsQuery): Promise<ShownRuns> {
  const { lastDay, ...fields } = given(query);
  const names = { since: 'First day', until: 'Last day' };
  const asked = requestRunList(
    { limit: 50, ...fields, ...(lastDay === undefined ? {} : { until: dayAfter(lastDay) }) },
    { timeZone: app.config.timeZone, jobs: app.jobs, names },
  );
  const key = ['runs page', asked] as const;
  const { value } = await reader.read(key, async () => ({
    kept: await readKeptRuns(app, asked),
    numbers: await countRuns(app, asked),
    schedules: (await app.ledger.schedules.read()).schedules.map(({ name }) => name),
  }));
  const { kept, numbers, schedules } = value;
  const list = await reader.readLive(
    ['runs now', asked],
    () => withLiveFigures(app, kept),
    () => keptList(app, kept),
  );
  return { list, numbers, jobs: app.jobs, schedules, query };
}

/** People name the last day of a range; a text that is no day is refused by its name. */
function dayAfter(day: string): string {
  const atMs = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) : Number.NaN;
  return Number.isNaN(atMs) ? day : new Date(atMs + 86_400_000).toISOString().slice(0, 10);
}

/** What is asked for, without the empty fields. */
function given({ state, ...query }: RunsQuery): Partial<Omit<RunsQuery, 'state'>> & { readonly state?: ListedState } {
  const texts = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));
  return state === '' ? texts : { ...texts, state };
}

/** The address of the list with some fields changed; a change of filters begins at the newest run. */
function addressOf(query: RunsQuery, changed: Partial<RunsQuery>, path = '/runs'): string {
  const fields = new URLSearchParams(given({ ...query, cursor: '', newer: '', ...changed }));
  return fields.size === 0 ? path : `${path}?${fields.toString()}`;
}

interface RunsProps extends ShownRuns {
  readonly frame: Frame;
  readonly reader: Reader;
}

function RunsPage({ frame, reader, ...shown }: RunsProps): JSX.Element {
  const { query } = shown;
  const { cursor, newer } = query;
  return (
    <Page {...frame} title="Runs" section="Runs">
      <div class="title">
        <h1>Runs</h1>
        <div class="actions">
          {mayAct(reader) ? (
            <a class="button" href="/start">
              Start an export
            </a>
          ) : null}
        </div>
      </div>
      <Filter {...shown} />
      <div id="live" class="body" data-live={addressOf(query, { cursor, newer }, '/runs/live')} data-ended="false">
        <RunsBody {...shown} />
      </div>
    </Page>
  );
}

function RunsBody(shown: ShownRuns): JSX.Element {
  const { list, jobs, query } = shown;
  const isFiltered = Object.entries(query).some(([name, value]) => value !== '' && name !== 'cursor');
  return (
    <>
      <Numbers {...shown} />
      <LiveFault list={list} />
      <section class="panel">
        {list.runs.length === 0 ? (
          <NoRuns isFiltered={isFiltered} isOfWell={query.well !== ''} />
        ) : (
          <RunTable runs={list.runs} jobs={jobs} />
        )}
        {list.cursor === null && list.newer === null ? null : (
          <nav class="pages" aria-label="Pages of runs">
            {list.newer === null ? null : (
              <>
                <a class="button" href={addressOf(query, {})}>
                  Newest
                </a>
                <a class="button" href={addressOf(query, { newer: list.newer })}>
                  Newer runs
                </a>
              </>
            )}
            {list.cursor === null ? null : (
              <a class="button" href={addressOf(query, { cursor: list.cursor })}>
                Older runs
              </a>
            )}
          </nav>
        )}
      </section>
    </>
  );
}

/** How many runs there are of each state, each a link to them. */
function Numbers({ numbers, query }: Pick<ShownRuns, 'numbers' | 'query'>): JSX.Element {
  const { exceptions: _, ...states } = numbers;
  const all = Object.values(states).reduce((sum, count) => sum + count, 0);
  const tabs = [
    ['', 'all', all] as const,
    ...stateTabs.map(([state, label]) => [state, label, numbers[state]] as const),
  ];
  return (
    <nav class="states" aria-label="States">
      {tabs
        .filter(([state, , count]) => state === '' || count > 0 || state === query.state)
        .map(([state, label, count]) => (
          <a key={label} href={addressOf(query, { state })} aria-current={state === query.state ? 'page' : undefined}>
            {label} <strong>{figure(count)}</strong>
          </a>
        ))}
    </nav>
  );
}

function Filter({ query, jobs, schedules }: ShownRuns): JSX.Element {
  const { state, job, well, schedule, by, since, lastDay } = query;
  const isFiltered = [job, well, schedule, by, since, lastDay].some((value) => value !== '');
  const jobChoices = jobs.map(({ name }) => [name, jobTitle(name)] as const);
  const scheduleChoices = [...new Set([...schedules, ...(schedule === '' ? [] : [schedule])])];
  return (
    <form method="get" action="/runs" class="row filter">
      {state === '' ? null : <input type="hidden" name="state" value={state} />}
      <Choice label="Job" name="job" value={job} choices={[['', 'any'], ...jobChoices]} />
      <Field label="Well, equipment or file">
        <input type="search" name="well" value={well} maxLength={1_000} placeholder="part of a name" />
      </Field>
      {scheduleChoices.length === 0 ? null : (
        <Choice
          label="Schedule"
          name="schedule"
          value={schedule}
          choices={[['', 'any or none'], ...scheduleChoices.map((name) => [name, name] as const)]}
        />
      )}
      <Field label="Requested by">
        <input type="search" name="by" value={by} maxLength={200} placeholder="part of a name" />
      </Field>
      <Field label="First day">
        <input type="date" name="since" value={since} />
      </Field>
      <Field label="Last day">
        <input type="date" name="lastDay" value={lastDay} />
      </Field>
      <button type="submit">Filter</button>
      {isFiltered ? (
        <a class="button" href="/runs">
          Clear
        </a>
      ) : null}
    </form>
  );
}

function NoRuns({ isFiltered, isOfWell }: Readonly<Record<'isFiltered' | 'isOfWell', boolean>>): JSX.Element {
  if (isFiltered) {
    return (
      <Empty title="No run fits these filters">
        {isOfWell ? (
          <p>
            A well, equipment or file is found as long as the details of a run are kept (<code>retention.unitDays</code>
            ).
          </p>
        ) : null}
        <a href="/runs">Show all runs</a>
      </Empty>
    );
  }
  return (
    <Empty title="No run yet">
      <p>
        <a href="/start">Start an export</a> of some wells, or <a href="/push">push a file</a>.
      </p>
    </Empty>
  );
}

function LiveFault({ list: { liveFault, unattendedJobs } }: { readonly list: RunListDocument }): JSX.Element | null {
  if (liveFault !== null) {
    return <RedisAway fault={liveFault} />;
  }
  if (unattendedJobs.length === 0) return null;
  return (
    <Remark tone="warn" title="No worker is running">
      <p>
        Runs of {unattendedJobs.map(jobTitle).join(', ')} wait for one. Start it with <code>wellsync worker</code>.
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
    <div class="runs">
      <Table
        caption="Runs, the newest first"
        columns={columns}
        rows={runs.map((run) => {
          const job = jobDescriptionOf(run.job, jobs);
          const [covers, ...cells] = columns.map(({ cell }) => cell(run, job));
          return { key: run.runId, cells: [isShort ? [covers, <small>{run.title}</small>] : covers, ...cells] };
        })}
      />
    </div>
  );
}

interface RunColumn extends Column {
  readonly isDetail?: boolean;
  readonly cell: (run: RunDocument, job: JobDescription) => ComponentChildren;
}

const runColumns: readonly RunColumn[] = [
  {
    title: 'What it covers',
    cell: RunCell,
  },
  { title: 'State', cell: ({ state, hasExceptions }) => <RunStateMark state={state} hasExceptions={hasExceptions} /> },
  { title: 'Job', isWideOnly: true, isDetail: true, cell: ({ title }) => title },
  { title: 'Requested', cell: ({ requestedAt }) => <Time at={requestedAt} /> },
  {
    title: 'Took',
    isNumber: true,
    isWideOnly: true,
    isDetail: true,
    cell: (run) => TookCell({ run }),
  },
  { title: 'Rows', isNumber: true, isWideOnly: true, isDetail: true, cell: rowsText },
  { title: 'By', isWideOnly: true, isDetail: true, cell: ({ requestedBy }) => <Person name={requestedBy} /> },
];

function RunCell({ runId, covers }: RunDocument): JSX.Element {
  return (
    <a href={`/runs/${encodeURIComponent(runId)}`} title={`${printable(covers)}, run ${runId}`}>
      <Name>{covers}</Name>
    </a>
  );
}

function rowsText({ counts }: RunDocument, job: JobDescription): string {
  const rows = counts[wholeOf(job) ?? ''];
  return job.record === undefined || rows === undefined ? '' : figure(rows);
}

/** Of a run that goes on, how far it is. */
function TookCell({ run }: { readonly run: RunDocument }): JSX.Element | string {
  const { state, settledUnits, units, durationMs } = run;
  if (state === 'running' && settledUnits !== null && units !== null && units > 0) {
    return <Progress done={settledUnits} whole={units} label={`${figure(settledUnits)} of ${figure(units)}`} />;
  }
  return durationMs === null ? '' : durationText(durationMs);
}
