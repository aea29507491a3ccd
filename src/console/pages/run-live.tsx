/** A run that goes on: what holds it up, how far it is, how fast, what is being read, and its log. */
import type { JSX } from 'preact';
import { z } from 'zod';
import type { RunLogLine } from '../../app/runs/run-log.ts';
import type { LiveRunDocument } from '../../app/runs/run-status.ts';
import { counted, figure, roughDurationText, spacedName } from '../../core/base/text.ts';
import type { JobDescription } from '../../core/run/job-description.ts';
import { Choice, Field } from './forms.tsx';
import {
  Empty,
  Figures,
  Name,
  Panel,
  Progress,
  RedisAway,
  Remark,
  type ShownFigure,
  State,
  Table,
  Time,
  type Tone,
} from './parts.tsx';
import { countFigures, TargetName } from './run-outcome.tsx';

interface GoingProps {
  readonly run: LiveRunDocument;
  readonly job: JobDescription;
  readonly nowMs: number;
}

export function Going(props: GoingProps): JSX.Element {
  const { liveFault, isUnattended, hold, outage } = props.run;
  return (
    <>
      {liveFault === null ? null : <RedisAway fault={liveFault} />}
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
        <Figured {...props} />
        <Reading {...props} />
      </Panel>
    </>
  );
}

function Figured({ run, job, nowMs }: GoingProps): JSX.Element {
  const { units, counts, pace, state } = run;
  if (units === null || units === 0) {
    return <p class="muted">{state === 'queued' ? 'Waiting for a worker to plan it.' : 'Not planned yet.'}</p>;
  }
  const settled = run.settledUnits ?? 0;
  const { share, leftMs } = pace ?? { share: settled / units, leftMs: null };
  const startedAt = run.attempts.at(-1)?.startedAt ?? null;
  const percent = `${Math.floor(100 * share)} %`;
  return (
    <>
      <Progress
        done={share}
        whole={1}
        label={`${percent}, ${figure(settled)} of ${counted(units, job.units.one, job.units.many)}`}
      />
      <Figures
        figures={[
          { name: job.units.many, value: figure(settled), remark: `of ${figure(units)} done` },
          {
            name: 'so far',
            value: percent,
            ...(leftMs === null || leftMs < 1_000 ? {} : { remark: `about ${roughDurationText(leftMs)} left` }),
          },
          ...countFigures(counts, job),
          ...underWay(run, job),
          ...(startedAt === null
            ? []
            : [
                {
                  name: run.retries === 0 ? 'since its start' : 'since its retry',
                  value: roughDurationText(Math.max(0, nowMs - Date.parse(startedAt))),
                },
              ]),
        ]}
      />
    </>
  );
}

/** What is known of a run that goes on, beside its counts. */
function underWay(
  { unitsInReading, rowsInReading, pace }: LiveRunDocument,
  job: JobDescription,
): readonly ShownFigure[] {
  return [
    ...(pace === null || pace.rowsPerSecond === null || job.record === undefined
      ? []
      : [{ name: 'rows a second', value: Math.round(pace.rowsPerSecond) }]),
    ...(unitsInReading === 0
      ? []
      : [{ name: 'being read', value: unitsInReading, remark: `${counted(rowsInReading, 'row')} so far` }]),
  ];
}

function Reading({ run, job }: GoingProps): JSX.Element | null {
  const { reading, unitsInReading } = run;
  if (reading.length === 0) return null;
  const more = unitsInReading - reading.length;
  return (
    <div class="reading">
      <h3>Being read now</h3>
      <ul class="names">
        {reading.map(({ target, rows, expectedRows }) => (
          <li key={target}>
            <TargetName job={run.job} target={target} />{' '}
            <span class="small muted">
              {expectedRows === null
                ? counted(rows, 'row')
                : `${figure(rows)} of about ${counted(expectedRows, 'row')}`}
            </span>
          </li>
        ))}
        {more > 0 ? <li class="muted">and {counted(more, job.units.one, job.units.many)} more</li> : null}
      </ul>
    </div>
  );
}

// The log about a run as a table, filtered by level and words.

/** In the address of the page of a run. */
export const logFields = {
  level: z.enum(['', 'warn', 'error']).catch(''),
  words: z.string().max(200).catch(''),
  order: z.enum(['', 'oldest']).catch(''),
};

export interface LogFields {
  readonly level: '' | 'warn' | 'error';
  readonly words: string;
  readonly order: '' | 'oldest';
}

interface RunLogProps {
  readonly runId: string;
  readonly job: string;
  /** The latest last. */
  readonly lines: readonly RunLogLine[];
  readonly fields: LogFields;
  readonly addressOf: (changed: Readonly<Record<string, string>>) => string;
  readonly kept: Readonly<Record<string, string>>;
}

const errors = new Set(['error', 'fatal']);

function admits({ level, words }: LogFields, line: RunLogLine): boolean {
  if (level === 'error' && !errors.has(line.level)) return false;
  if (level === 'warn' && !errors.has(line.level) && line.level !== 'warn') return false;
  const text = [line.message, ...Object.values(line.about)].join(' ').toLowerCase();
  return text.includes(words.trim().toLowerCase());
}

export function RunLog(props: RunLogProps): JSX.Element | null {
  const { runId, job, lines, fields, addressOf, kept } = props;
  if (lines.length === 0) return null;
  const admitted = lines.filter((line) => admits(fields, line));
  const shown = fields.order === 'oldest' ? admitted : admitted.toReversed();
  const first = fields.order === 'oldest' ? 'the oldest first' : 'the latest first';
  return (
    <Panel
      title="Log"
      id="log"
      aside={
        <span class="small muted">
          {counted(admitted.length, 'line')}, {first} ·{' '}
          <a href={`/api/v1/runs/${encodeURIComponent(runId)}/log`} download={`log-${runId}.json`}>
            Download
          </a>
        </span>
      }
    >
      <form method="get" action={`${addressOf({}).split(/[#?]/, 1)[0] ?? ''}#log`} class="row">
        {Object.entries(kept).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <Choice
          label="Level"
          name="level"
          value={fields.level}
          choices={[
            ['', 'all'],
            ['warn', 'warnings and errors'],
            ['error', 'errors'],
          ]}
        />
        <Field label="With the words">
          <input type="search" name="words" value={fields.words} maxLength={200} />
        </Field>
        <Choice
          label="Order"
          name="order"
          value={fields.order}
          choices={[
            ['', 'latest first'],
            ['oldest', 'oldest first'],
          ]}
        />
        <button type="submit">Show lines</button>
      </form>
      {shown.length === 0 ? (
        <Empty title="No line fits">
          <a href={addressOf({ level: '', words: '' })}>Show all lines</a>
        </Empty>
      ) : (
        <Table
          caption="Log of the run"
          columns={[{ title: 'Time' }, { title: 'Level' }, { title: 'Message' }, { title: 'About' }]}
          rows={shown.map(({ at, level, message, about }, index) => ({
            key: String(index),
            cells: [
              <Time at={at} hasSeconds />,
              level === 'info' ? <span class="muted">info</span> : <State tone={toneOf(level)} label={level} />,
              <Name>{message}</Name>,
              About({ about, job }),
            ],
          }))}
        />
      )}
    </Panel>
  );
}

function toneOf(level: string): Tone {
  if (errors.has(level)) return 'bad';
  return level === 'warn' ? 'warn' : 'idle';
}

/** Numbers of parts of the work, which tell a reader nothing. */
const inner = new Set(['generation', 'chunk', 'attempt', 'units', 'code']);
const targetNames = new Set(['target', 'well', 'uwi', 'equipment']);

function About({ about, job }: { readonly about: RunLogLine['about']; readonly job: string }): JSX.Element | null {
  const outer = Object.entries(about).filter(([name]) => !inner.has(name));
  // A line may name its well twice.
  const shown = outer.filter(
    ([name, value], index) => !targetNames.has(name) || outer.findIndex(([, each]) => each === value) === index,
  );
  if (shown.length === 0) return null;
  return (
    <span class="about">
      {shown.map(([name, value]) => (
        <span key={name}>
          {targetNames.has(name) ? (
            <TargetName job={job} target={value} />
          ) : (
            <>
              <span class="muted">{spacedName(name)}</span> <Name>{value}</Name>
            </>
          )}
        </span>
      ))}
    </span>
  );
}
