/** A run that goes on: what holds it up, how far it is, how fast, and what is being read. */
import type { JSX } from 'preact';
import type { LiveRunDocument } from '../../app/runs/run-status.ts';
import { counted, figure, roughDurationText } from '../../core/base/text.ts';
import type { JobDescription } from '../../core/run/job-description.ts';
import { Figures, Name, Panel, Progress, RedisAway, Remark, type ShownFigure, Time } from './parts.tsx';
import { countFigures } from './run-outcome.tsx';
import { TargetName } from './run-wells.tsx';

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
