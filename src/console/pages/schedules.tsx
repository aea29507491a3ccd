/** Schedules: what runs by itself, when it last did, and when it will. */
import type { JSX } from 'preact';
import { ActionButton, type PageKey } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Name, Panel, State, Table, Time } from './parts.tsx';

export interface ShownSchedule {
  readonly name: string;
  readonly cron: string;
  readonly timeZone: string;
  readonly job: string;
  readonly isPaused: boolean;
  readonly nextAtMs: number | undefined;
  readonly lastRun:
    | { readonly runId: string; readonly state: string; readonly startedAtMs: number | undefined }
    | undefined;
}

interface SchedulesProps {
  readonly frame: Frame;
  readonly schedules: readonly ShownSchedule[];
  readonly pageKey: PageKey;
}

export function SchedulesPage({ frame, schedules, pageKey }: SchedulesProps): JSX.Element {
  return (
    <Page {...frame} title="Schedules" section="Schedules">
      <h1>Schedules</h1>
      <Panel title={schedules.length === 0 ? 'None yet' : 'By name'}>
        {schedules.length === 0 ? (
          <Empty title="Nothing runs by itself">
            <p>
              Write schedules into the configuration, then <code>wellsync schedules apply</code>.
            </p>
          </Empty>
        ) : (
          <Table
            caption="Schedules"
            columns={[
              { title: 'Name' },
              { title: 'Job' },
              { title: 'When' },
              { title: 'Last run' },
              { title: 'Next run' },
              { title: '' },
            ]}
            rows={schedules.map((schedule) => ({ key: schedule.name, cells: cellsOf(schedule, pageKey) }))}
          />
        )}
      </Panel>
    </Page>
  );
}

function cellsOf(schedule: ShownSchedule, pageKey: PageKey) {
  const { name, cron, timeZone, job, isPaused, nextAtMs, lastRun } = schedule;
  const asks = `POST /api/v1/schedules/${encodeURIComponent(name)}`;
  return [
    <Name>{name}</Name>,
    job,
    <span>
      <code>{cron}</code> <span class="muted small">{timeZone}</span>
    </span>,
    lastRun === undefined ? (
      <span class="muted">never</span>
    ) : (
      <a href={`/runs/${encodeURIComponent(lastRun.runId)}`}>
        {lastRun.state} <Time ms={lastRun.startedAtMs} empty="" />
      </a>
    ),
    isPaused ? <State tone="idle" word="paused" /> : <Time ms={nextAtMs} empty="not planned" />,
    pageKey === undefined ? (
      ''
    ) : (
      <span class="actions">
        <ActionButton asks={`${asks}/trigger`} pageKey={pageKey} label="Run now" />
        <ActionButton
          asks={`${asks}/${isPaused ? 'resume' : 'pause'}`}
          pageKey={pageKey}
          label={isPaused ? 'Resume' : 'Pause'}
        />
      </span>
    ),
  ];
}
