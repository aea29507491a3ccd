/** The first page: what ran, what needs a person, what comes next. */
import type { ComponentChildren, JSX } from 'preact';
import type { AlertDocument, AlertGroup } from '../../app/alerts/alert-document.ts';
import { type Overview, overviewOf } from '../../app/runs/overview.ts';
import { counted, listed, roughDurationText } from '../../core/base/text.ts';
import type { JobDescription } from '../../core/run/job-description.ts';
import { type Frame, Page } from './frame.tsx';
import { Empty, Name, Remark, Panel, State, type Tone, Time } from './parts.tsx';
import type { Pages } from './routes.tsx';
import { LiveFault, RunTable } from './runs.tsx';

export function addOverviewPages(pages: Pages): void {
  const { app, reader } = pages.context;
  const read = async () => (await reader.read('overview', () => overviewOf(app, Date.now()))).value;
  pages.add({
    url: '/',
    page: async ({ frame }) => <OverviewPage frame={frame} overview={await read()} jobs={app.jobs} />,
  });
  pages.addPart('/live', async () => ({
    element: <OverviewBody overview={await read()} jobs={app.jobs} />,
    isEnded: false,
  }));
}

interface OverviewProps {
  readonly frame: Frame;
  readonly overview: Overview;
  readonly jobs: readonly JobDescription[];
}

function OverviewPage({ frame, overview, jobs }: OverviewProps): JSX.Element {
  const { list } = overview;
  return (
    <Page {...frame} title="Overview" section="Overview">
      <div id="live" data-live="/live">
        <OverviewBody overview={overview} jobs={jobs} />
      </div>
      {list.runs.length === 0 ? <FirstSteps /> : null}
    </Page>
  );
}

/** The part that the script renews. */
function OverviewBody({ overview, jobs }: Omit<OverviewProps, 'frame'>): JSX.Element {
  const { list } = overview;
  return (
    <div class="body">
      <h1>{nightText(overview)}</h1>
      <LiveFault list={list} />
      <div class="columns wide-first">
        <div class="body">
          <Attention overview={overview} />
          {list.runs.length === 0 ? null : (
            <Panel title="Latest runs" aside={<a href="/runs">All runs</a>}>
              <RunTable runs={list.runs} jobs={jobs} isShort />
            </Panel>
          )}
        </div>
        <div class="body">
          <Next overview={overview} />
          <Workers overview={overview} />
        </div>
      </div>
    </div>
  );
}

/** One sentence on the last 24 hours. */
function nightText({ night, list }: Overview): string {
  const { done, exceptions, failed, running } = night;
  const total = done + exceptions + failed + running + night.cancelled;
  if (list.runs.length === 0) return 'Nothing has run yet';
  if (total === 0) return 'Nothing ran in the last 24 hours';
  const parts = [
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(exceptions > 0 ? [`${exceptions} done with exceptions`] : []),
    ...(done > 0 ? [`${done} done`] : []),
    ...(running > 0 ? [`${running} under way`] : []),
    ...(night.cancelled > 0 ? [`${night.cancelled} cancelled`] : []),
  ];
  return `${counted(total, 'run')} in the last 24 hours: ${listed(parts)}`;
}

interface Item {
  readonly tone: Tone;
  readonly label: string;
  readonly text: ComponentChildren;
  readonly href: string;
  readonly link: string;
}

function Attention({ overview }: { readonly overview: Overview }): JSX.Element {
  const items = itemsOf(overview);
  if (items.length === 0) {
    return (
      <Remark tone="good" title="Nothing needs you">
        <p>No alert is open, and the service holds no request.</p>
      </Remark>
    );
  }
  return (
    <Panel title="Needs a look">
      <ul class="list">
        {items.map(({ tone, label, text, href, link }) => (
          <li key={href}>
            <span>
              <State tone={tone} label={label} /> {text}
            </span>
            <a href={href}>{link}</a>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function itemsOf({ alerts, waiting, workers, heldBack: { hold, outage } }: Overview): readonly Item[] {
  return [
    ...(workers === undefined
      ? [
          {
            tone: 'bad' as const,
            label: 'away',
            text: 'Redis does not answer: no run starts or goes on until it does.',
            href: '/service?check=yes',
            link: 'Check every part',
          },
        ]
      : []),
    ...(outage === null
      ? []
      : [
          {
            tone: 'bad' as const,
            label: 'down',
            text: (
              <>
                The service is down since <Time at={outage.since} />: all requests wait.
              </>
            ),
            href: '/service',
            link: 'See the service',
          },
        ]),
    ...(hold === null
      ? []
      : [
          {
            tone: 'warn' as const,
            label: 'on hold',
            text: (
              <>
                The service asked all to wait until <Time at={hold.until} />.
              </>
            ),
            href: '/service',
            link: 'See the service',
          },
        ]),
    ...alerts.map(itemOf),
    ...(waiting.sinceMs === undefined
      ? []
      : [
          {
            tone: 'warn' as const,
            label: 'messages',
            text: (
              <>
                {counted(waiting.messages, 'message waits', 'messages wait')} for the receiver of alerts since{' '}
                <Time at={new Date(waiting.sinceMs).toISOString()} />.
              </>
            ),
            href: '/service?check=yes',
            link: 'Check every part',
          },
        ]),
  ];
}

const tones = { error: 'bad', warning: 'warn', info: 'idle' } as const;

function itemOf({ first, alerts, words }: AlertGroup): Item {
  const { kind, severity, summary, target } = first;
  return {
    tone: tones[severity],
    label: severity,
    text: (
      <>
        {alerts.length === 1 ? `${kind} ${target.id}` : words}: <Name>{summary}</Name>
      </>
    ),
    ...linkOf(first),
  };
}

/** Where a person sees more of an alert. */
function linkOf({ kind, target, detail, openedBy }: AlertDocument): Pick<Item, 'href' | 'link'> {
  if (kind === 'well-unknown' && target.kind === 'well') return { href: '/coverage/unknown', link: 'Show them' };
  if (kind === 'well-silent') return { href: '/coverage/stale', link: 'Show them' };
  if (kind === 'schedule-missed') return { href: '/schedules', link: 'See the schedules' };
  if (target.kind === 'service') return { href: '/service', link: 'See the service' };
  const runId = typeof detail['runId'] === 'string' ? detail['runId'] : openedBy;
  return { href: `/runs/${encodeURIComponent(runId)}`, link: `Run ${runId}` };
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
              <Name>{name}</Name> <span class="muted">{job}</span>
            </span>
            {isPaused || at === null ? (
              <State tone="idle" label={isPaused ? 'paused' : 'not planned'} />
            ) : (
              <span>
                <Time at={at} /> <span class="muted">in {roughDurationText(Math.max(0, Date.parse(at) - nowMs))}</span>
              </span>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Workers({ overview: { workers } }: { readonly overview: Overview }): JSX.Element {
  return (
    <Panel title="Workers">
      {workers === undefined ? (
        <p class="muted">Not known: Redis does not answer.</p>
      ) : (
        <ul class="list">
          {workers.map(({ queue, workers: count }) => (
            <li key={queue}>
              <span>
                {count > 0 ? (
                  <State tone="good" label={counted(count, 'worker')} />
                ) : (
                  <State tone="warn" label="none" />
                )}{' '}
                <span class="muted">for {queue}</span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
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
