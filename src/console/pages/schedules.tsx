/** Schedules: what runs by itself, when it last did, and when it will. */
import type { JSX } from 'preact';
import { listSchedules, type ScheduleDocument, type ScheduleList } from '../../app/schedules/schedule.ts';
import { configNow } from '../api/schedules.ts';
import { ActionButton, ActionForm, Field, mayAct, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Name, Remark, Panel, State, Table, Time } from './parts.tsx';
import type { Pages } from './routes.tsx';

export function addSchedulesPage(pages: Pages): void {
  const { app, reader } = pages.context;
  pages.add({
    url: '/schedules',
    page: async ({ frame, caller, nowMs }) => {
      const { value } = await reader.read('schedules', () => listSchedules(app, nowMs, configNow(pages.context)));
      return <SchedulesPage frame={frame} list={value} reader={caller} />;
    },
  });
}

interface SchedulesProps {
  readonly frame: Frame;
  readonly list: ScheduleList;
  readonly reader: Reader;
}

function SchedulesPage({ frame, list, reader }: SchedulesProps): JSX.Element {
  const { schedules } = list;
  return (
    <Page {...frame} title="Schedules" section="Schedules">
      <h1>Schedules</h1>
      <Revision list={list} reader={reader} />
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
              { title: 'Last tick' },
              { title: 'Its run' },
              { title: 'Next run' },
              { title: '' },
            ]}
            rows={schedules.map((schedule) => ({ key: schedule.name, cells: cellsOf(schedule, reader) }))}
          />
        )}
      </Panel>
    </Page>
  );
}

/** Where the configuration has a higher revision than the warehouse. */
function Revision({
  list: { revision, configuredRevision, roleToApply },
  reader,
}: Omit<SchedulesProps, 'frame'>): JSX.Element | null {
  if (configuredRevision === null || (revision !== null && configuredRevision <= revision)) return null;
  return (
    <Remark tone="warn" title="The configuration has schedules that are not applied">
      <p>
        Revision {configuredRevision} is in the configuration, {revision ?? 'none'} in the warehouse.
      </p>
      <ActionButton
        asks="POST /api/v1/schedules/apply"
        reader={reader}
        needs={roleToApply}
        label="Apply them"
        kind="first"
      />
    </Remark>
  );
}

/** The outcome of the last tick that needs a look. */
function tickOf(lastTick: ScheduleDocument['lastTick']): JSX.Element {
  if (lastTick === null) return <span class="muted">none</span>;
  const { due, outcome, because } = lastTick;
  const tone = outcome === 'failed' || outcome === 'missed' ? 'bad' : outcome === 'skipped' ? 'idle' : 'good';
  return (
    <span>
      <State tone={tone} label={outcome} /> <Time at={due} />
      {because === null ? null : <span class="muted small"> {because}</span>}
    </span>
  );
}

/** A schedule that deletes is started by typing its name. */
function RunNow(props: {
  readonly schedule: ScheduleDocument;
  readonly asks: string;
  readonly reader: Reader;
}): JSX.Element {
  const { schedule, asks, reader } = props;
  if (schedule.role !== 'delete') return <ActionButton asks={asks} reader={reader} label="Run now" />;
  return (
    <ActionForm asks={asks} reader={reader} needs={schedule.role}>
      <Field label={`It deletes: type ${schedule.name}`}>
        <input data-typed={schedule.name} required autocomplete="off" />
      </Field>
      <button type="submit" class="danger">
        Run now
      </button>
    </ActionForm>
  );
}

function cellsOf(schedule: ScheduleDocument, reader: Reader) {
  const { name, cron, timeZone, job, paused, next, lastTick, lastRun } = schedule;
  const asks = `POST /api/v1/schedules/${encodeURIComponent(name)}`;
  return [
    <Name>{name}</Name>,
    job,
    <span>
      <code>{cron}</code> <span class="muted small">{timeZone}</span>
    </span>,
    tickOf(lastTick),
    lastRun === null ? (
      <span class="muted">never</span>
    ) : (
      <a href={`/runs/${encodeURIComponent(lastRun.runId)}`}>
        {lastRun.state ?? 'pruned'} <Time at={lastRun.startedAt} empty="" />
      </a>
    ),
    paused === null ? (
      <Time at={next} empty="not planned" />
    ) : (
      <span>
        <State tone="idle" label="paused" /> <span class="muted small">by {paused.by}</span>
      </span>
    ),
    <span class="actions">
      <RunNow schedule={schedule} asks={`${asks}/trigger`} reader={reader} />
      <ActionButton
        asks={`${asks}/${paused === null ? 'pause' : 'resume'}`}
        reader={reader}
        needs={paused === null ? 'operate' : schedule.role}
        label={paused === null ? 'Pause' : 'Resume'}
      />
      {mayAct(reader) && !mayAct(reader, schedule.role) ? (
        <span class="muted small">The role {schedule.role} runs and resumes it</span>
      ) : null}
    </span>,
  ];
}
