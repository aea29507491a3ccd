/** The first page: what needs a person, what runs, what comes next, who works. */
import type { JSX } from 'preact';
import { isUnworked, type Overview, overviewOf } from '../../app/runs/overview.ts';
import { jobTitle } from '../../app/runs/run-scope.ts';
import type { LedgerReader } from '../../app/warehouse/last-known.ts';
import { counted, daysAndHoursText, listed } from '../../core/base/text.ts';
import type { JobDescription } from '../../core/run/job-description.ts';
import { Alerts } from './alerts.tsx';
import { Command, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Name, Panel, RedisAway, Remark, State, Time } from './parts.tsx';
import type { Pages } from './routes.tsx';
import { RunTable } from './runs.tsx';

export function addOverviewPages(pages: Pages): void {
  const { app } = pages.context;
  const read = (reader: LedgerReader) => reader.read(['overview'], () => overviewOf(app, Date.now()));
  pages.add({
    url: '/',
    page: async ({ frame, reader, caller }) => {
      const { value } = await read(reader);
      return <OverviewPage frame={frame} overview={value} jobs={app.jobs} reader={caller} />;
    },
  });
  pages.addPart('/live', async ({ reader, caller }) => {
    const { value } = await read(reader);
    return { element: <OverviewBody overview={value} jobs={app.jobs} reader={caller} />, isEnded: false };
  });
}

interface OverviewProps {
  readonly frame: Frame;
  readonly overview: Overview;
  readonly jobs: readonly JobDescription[];
  readonly reader: Reader;
}

function OverviewPage({ frame, overview, jobs, reader }: OverviewProps): JSX.Element {
  return (
    <Page {...frame} title="Overview" section="Overview">
      <div id="live" data-live={`/live?key=${reader.pageKey}`}>
        <OverviewBody overview={overview} jobs={jobs} reader={reader} />
      </div>
    </Page>
  );
}

/** The part that the script renews. */
function OverviewBody({ overview, jobs, reader }: Omit<OverviewProps, 'frame'>): JSX.Element {
  const { list, underWay, alerts, acknowledged, retries } = overview;
  const hasRun = list.runs.length > 0;
  return (
    <div class="body">
      <div>
        <h1>{headlineOf(overview)}</h1>
        {hasRun ? <p class="muted">{nightText(overview)}</p> : null}
      </div>
      <Obstacles overview={overview} />
      <div class="columns wide-first">
        <div class="body">
          {hasRun ? null : <FirstSteps />}
          <Alerts open={alerts} acknowledged={acknowledged} retries={retries} reader={reader} />
          {underWay.runs.length === 0 ? null : (
            <Panel title="Under way">
              <RunTable runs={underWay.runs} jobs={jobs} isShort />
            </Panel>
          )}
          {hasRun ? (
            <Panel title="Latest runs" aside={<a href="/runs">All runs</a>}>
              <RunTable runs={list.runs} jobs={jobs} isShort />
            </Panel>
          ) : null}
        </div>
        <div class="body">
          <Next overview={overview} />
          <Workers overview={overview} />
        </div>
      </div>
    </div>
  );
}

/** What needs a person, in one sentence. */
function headlineOf(overview: Overview): string {
  const { alerts, list, heldBack } = overview;
  const of = (severity: string): number => alerts.filter(({ first }) => first.severity === severity).length;
  const [errors, warnings] = [of('error'), of('warning')];
  const unworked = isUnworked(overview);
  if (unworked === undefined) return 'Redis does not answer';
  if (unworked) return 'Nobody works: nothing will start';
  if (list.runs.length === 0) return 'Nothing has run yet';
  if (errors + warnings > 0) {
    const parts = [
      ...(errors > 0 ? [counted(errors, 'error')] : []),
      ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
    ];
    return `${listed(parts)} ${errors + warnings === 1 ? 'needs' : 'need'} you`;
  }
  if (heldBack.outage !== null) return 'The service was down';
  return heldBack.hold === null ? 'Nothing needs you' : 'The service asked all to wait';
}

/** One sentence on the last 24 hours. */
function nightText({ night }: Overview): string {
  const { done, exceptions, failed, running, cancelled } = night;
  const ended = done + exceptions;
  const total = ended + failed + running + cancelled;
  if (total === 0) return 'Nothing ran in the last 24 hours.';
  const parts = [
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(ended > 0 ? [`${ended} done${exceptions > 0 ? ` (${exceptions} with exceptions)` : ''}`] : []),
    ...(running > 0 ? [`${running} under way`] : []),
    ...(cancelled > 0 ? [`${cancelled} cancelled`] : []),
  ];
  return `${counted(total, 'run')} in the last 24 hours: ${listed(parts)}.`;
}

/** What keeps all work, above everything else. */
function Obstacles({ overview }: { readonly overview: Overview }): JSX.Element | null {
  const { next, underWay, heldBack, waiting } = overview;
  const unworked = isUnworked(overview);
  const { hold, outage } = heldBack;
  const first = next.find(({ isPaused, next: at }) => !isPaused && at !== null);
  return (
    <>
      {unworked === undefined ? <RedisAway fault={underWay.liveFault ?? undefined} /> : null}
      {unworked === true ? (
        <Remark tone="bad" title="No worker is running">
          <p>
            {underWay.runs.length === 0 ? 'No run waits now. ' : 'Runs wait for one. '}
            {first === undefined ? null : (
              <>
                <Name>{first.name}</Name> is due at <Time at={first.next} />, and will not start.{' '}
              </>
            )}
            Start one:
          </p>
          <Command text="wellsync worker" />
        </Remark>
      ) : null}
      {unworked !== true && underWay.unattendedJobs.length > 0 ? (
        <Remark tone="bad" title="Runs wait for a worker">
          <p>Nobody does this work: {listed(underWay.unattendedJobs.map(jobTitle))}. Start a worker:</p>
          <Command text="wellsync worker" />
        </Remark>
      ) : null}
      {outage === null ? null : (
        <Remark
          tone={outage.isDue ? 'warn' : 'bad'}
          title={outage.isDue ? 'The service was down' : 'The service is down'}
        >
          <p>
            It stopped answering at <Time at={outage.since} />
            {outage.isDue ? ', and the next request that is due asks it: it may be up again.' : '. All requests wait.'}
          </p>
          <a href="/service?check=yes">Ask the service now</a>
        </Remark>
      )}
      {hold === null ? null : (
        <Remark tone="warn" title="The service asked all to wait">
          <p>
            Requests go on at <Time at={hold.until} />. <a href="/service">See the service</a>
          </p>
        </Remark>
      )}
      {waiting.sinceMs === undefined ? null : (
        <Remark tone="warn" title="The receiver of alerts does not answer">
          <p>
            {counted(waiting.messages, 'message waits', 'messages wait')} since{' '}
            <Time at={new Date(waiting.sinceMs).toISOString()} />. <a href="/service?check=yes">Check every part</a>
          </p>
        </Remark>
      )}
    </>
  );
}

function Next({ overview: { next, nowMs } }: { readonly overview: Overview }): JSX.Element {
  if (next.length === 0) {
    return (
      <Panel title="What comes next">
        <Empty title="No schedule">
          <p>
            Write schedules into the configuration, then <code>wellsync schedules apply</code>. Runs that cron starts
            need none.
          </p>
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel title="What comes next" aside={<a href="/schedules">Schedules</a>}>
      <ul class="list">
        {next.map(({ name, job, next: at, isPaused }) => (
          <li key={name}>
            <span>
              <Name>{name}</Name> <span class="muted">{jobTitle(job)}</span>
            </span>
            {isPaused || at === null ? (
              <State tone="idle" label={isPaused ? 'paused' : 'not planned'} />
            ) : (
              <span>
                <Time at={at} /> <span class="muted">in {daysAndHoursText(Math.max(0, Date.parse(at) - nowMs))}</span>
              </span>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Workers({ overview: { workers } }: { readonly overview: Overview }): JSX.Element {
  const lacking = (workers ?? []).filter(({ workers: count }) => count === 0);
  return (
    <Panel title="Who works">
      {workers === undefined ? (
        <p class="muted">Not known: Redis does not answer.</p>
      ) : (
        <ul class="list">
          {lacking.length < workers.length ? (
            <li>
              <span>
                <State tone="good" label={counted(Math.max(...workers.map(({ workers: count }) => count)), 'worker')} />{' '}
                <span class="muted">
                  for {listed(workers.filter(({ workers: count }) => count > 0).map(({ queue }) => worksOf(queue)))}
                </span>
              </span>
            </li>
          ) : null}
          {lacking.length > 0 ? (
            <li>
              <span>
                <State tone="bad" label="nobody" />{' '}
                <span class="muted">for {listed(lacking.map(({ queue }) => worksOf(queue)))}</span>
              </span>
            </li>
          ) : null}
        </ul>
      )}
    </Panel>
  );
}

const works: Readonly<Record<string, string>> = {
  runs: 'starting runs',
  export: 'exports',
  push: 'pushes',
  cleanup: 'cleanups',
};

function worksOf(queue: string): string {
  return works[queue] ?? queue;
}

function FirstSteps(): JSX.Element {
  return (
    <Panel title="Start here">
      <ol class="list">
        <li>
          <span>Look whether every part is reached, and what to do where one is not:</span>
          <code>wellsync doctor</code>
        </li>
        <li>
          <span>Read one well, to see that it is right:</span>
          <code>wellsync export daily-production --uwi UWI --wait</code>
        </li>
        <li>
          <span>Read all of them, every night:</span>
          <code>wellsync export daily-production --wells wells.csv</code>
        </li>
      </ol>
    </Panel>
  );
}
