/** Schedules: what starts by itself, when it did, and when it will. */
import type { JSX } from 'preact';
import { jobTitle } from '../../app/runs/run-scope.ts';
import { listSchedules, type ScheduleDocument, type ScheduleList } from '../../app/schedules/schedule.ts';
import { configNow } from '../api/schedules.ts';
import { ActionButton, ActionForm, Field, mayAct, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Facts, Name, Person, Remark, RunStateMark, State, Time } from './parts.tsx';
import type { Pages } from './routes.tsx';

export function addSchedulesPage(pages: Pages): void {
  const { app } = pages.context;
  pages.add({
    url: '/schedules',
    page: async ({ frame, reader, caller, nowMs }) => {
      const config = configNow(pages.context);
      const { value: list } = await reader.read(['schedules page'], () => listSchedules(app, nowMs, config));
      return <SchedulesPage frame={frame} list={list} reader={caller} />;
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
  const zones = [...new Set(schedules.map(({ timeZone }) => timeZone))];
  const [zone] = zones.length === 1 ? zones : [];
  return (
    <Page {...frame} title="Schedules" section="Schedules">
      <div>
        <h1>Schedules</h1>
        <p class="muted">
          {zone === undefined ? 'Each goes by the clock of its zone' : `All go by the clock of ${zone}`}; other times on
          this page are those of the zone named at its foot. To change a schedule, change the configuration and raise
          its revision; workers apply it when they start, or <code>wellsync schedules apply</code> does.
        </p>
      </div>
      <Revision list={list} reader={reader} />
      {schedules.length === 0 ? (
        <section class="panel">
          <Empty title="Nothing starts by itself">
            <p>
              Write schedules into the configuration, then <code>wellsync schedules apply</code>.
            </p>
          </Empty>
        </section>
      ) : null}
      {schedules.map((schedule) => (
        <Schedule key={schedule.name} schedule={schedule} hasZone={zone === undefined} reader={reader} />
      ))}
    </Page>
  );
}

interface ScheduleProps {
  readonly schedule: ScheduleDocument;
  /** Whether its zone stands beside its times. */
  readonly hasZone: boolean;
  readonly reader: Reader;
}

function Schedule({ schedule, hasZone, reader }: ScheduleProps): JSX.Element {
  const { name, cron, cronWords, timeZone, job, parameters, paused, upcoming } = schedule;
  const parts = Object.entries(parameters);
  return (
    <section class="panel schedule" id={name} aria-labelledby={`name-${name}`}>
      <div class="panel-head">
        <h2 id={`name-${name}`}>
          <Name>{name}</Name> {paused === null ? null : <State tone="idle" label="paused" isBadge />}
        </h2>
        <Acts schedule={schedule} reader={reader} />
      </div>
      <Facts
        facts={[
          ['When', <span title={cron}>{`${cronWords}${hasZone ? `, ${timeZone}` : ''}`}</span>],
          [
            'What',
            <span>{`${jobTitle(job)}${parts.length === 0 ? '' : `: ${parts.map(parameterText).join(', ')}`}`}</span>,
          ],
          [
            'Next',
            paused === null ? (
              <Times at={upcoming} />
            ) : (
              <span>
                not while it is paused: by <Person name={paused.by} />, <Time at={paused.at} />
              </span>
            ),
          ],
          ['Last due', <LastTick lastTick={schedule.lastTick} />],
          ['Runs', <History runs={schedule.runs} />],
        ]}
      />
    </section>
  );
}

/** `fromWarehouse` reads `from warehouse`. */
function parameterText([name, value]: readonly [string, unknown]): string {
  const spaced = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  if (value === true) return spaced;
  const shown = Array.isArray(value) ? value.slice(0, mostValues).join(', ') : String(value);
  const more = Array.isArray(value) && value.length > mostValues ? ` and ${value.length - mostValues} more` : '';
  return `${spaced} ${shown}${more}`;
}

/** Of a list among the parameters. */
const mostValues = 5;

function Times({ at }: { readonly at: readonly string[] }): JSX.Element {
  if (at.length === 0) return <span class="muted">not planned</span>;
  return (
    <span class="times">
      {at.map((each) => (
        <Time key={each} at={each} />
      ))}
    </span>
  );
}

/** The latest runs, with who began those that no tick did. */
function History({ runs }: Pick<ScheduleDocument, 'runs'>): JSX.Element {
  if (runs.length === 0) return <span class="muted">none yet</span>;
  return (
    <span class="times">
      {runs.map(({ runId, state, requestedAt, byHand }) => (
        <a key={runId} class="run" href={`/runs/${encodeURIComponent(runId)}`}>
          <RunStateMark state={state} /> <Time at={requestedAt} />
          {byHand === null ? null : (
            <>
              {' '}
              by hand, <Person name={byHand} />
            </>
          )}
        </a>
      ))}
    </span>
  );
}

/** Where the configuration has a higher revision than the warehouse. */
function Revision({
  list: { revision, configuredRevision, roleToApply },
  reader,
}: Pick<SchedulesProps, 'list' | 'reader'>): JSX.Element | null {
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

/** What became of the last time that it was due. */
function LastTick({ lastTick }: Pick<ScheduleDocument, 'lastTick'>): JSX.Element {
  if (lastTick === null) return <span class="muted">not yet</span>;
  const { due, outcome, because } = lastTick;
  const tone = outcome === 'failed' || outcome === 'missed' ? 'bad' : outcome === 'skipped' ? 'idle' : 'good';
  return (
    <span>
      <Time at={due} />, <State tone={tone} label={outcome} />
      {because === null ? null : (
        <span class="muted">
          : <Name>{because}</Name>
        </span>
      )}
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

function Acts({ schedule, reader }: Pick<ScheduleProps, 'schedule' | 'reader'>): JSX.Element | null {
  const { name, paused } = schedule;
  const asks = `POST /api/v1/schedules/${encodeURIComponent(name)}`;
  if (!mayAct(reader)) return null;
  return (
    <div class="actions">
      <RunNow schedule={schedule} asks={`${asks}/trigger`} reader={reader} />
      <ActionButton
        asks={`${asks}/${paused === null ? 'pause' : 'resume'}`}
        reader={reader}
        needs={paused === null ? 'operate' : schedule.role}
        label={paused === null ? 'Pause' : 'Resume'}
      />
      {mayAct(reader, schedule.role) ? null : (
        <span class="muted small">The role {schedule.role} runs and resumes it</span>
      )}
    </div>
  );
}
