/** What came of a run that has ended: why it failed, what it counted, and what differs. */
import type { JSX } from 'preact';
import type { FilledWell } from '../../app/runs/run-units.ts';
import {
  balanceSentence,
  type FailureGroup,
  failureGroups,
  failureSentence,
  isUnplanned,
  type ReportDocument,
  type RunDocument,
  shownCounts,
  wholeFault,
} from '../../app/runs/run-document.ts';
import { paceOf, rowsOf } from '../../app/runs/run-progress.ts';
import { counted, durationText, figure } from '../../core/base/text.ts';
import { countWords, type JobDescription } from '../../core/run/job-description.ts';
import { Figures, Name, Panel, Remark, type ShownFigure, State, Table, WellLink } from './parts.tsx';
import { TargetName } from './run-wells.tsx';

interface OutcomeProps {
  readonly run: Pick<RunDocument, 'job' | 'hasExceptions'>;
  readonly report: ReportDocument;
  readonly job: JobDescription;
  readonly filled: readonly FilledWell[];
}

/** How it ended, in a sentence; of a failed one, why and what to do. */
export function Headline({ run, report, job, filled }: OutcomeProps): JSX.Element {
  const { state } = report;
  const cause = failureSentence(report, job);
  const advice = wholeFault(report, job)?.hint ?? cause?.hint;
  const tone = state === 'failed' ? 'bad' : state !== 'done' ? 'idle' : run.hasExceptions ? 'warn' : 'good';
  return (
    <>
      <Remark tone={tone}>
        <p class="lead">{cause?.sentence ?? report.sentence}</p>
        {advice === undefined ? null : <p>{advice}</p>}
      </Remark>
      {filled.map(({ uwi, isGood, sentence }) => (
        <Remark key={uwi} tone={isGood ? 'good' : 'warn'}>
          <p>
            {sentence} Back to <WellLink uwi={uwi} />.
          </p>
        </Remark>
      ))}
    </>
  );
}

type OutcomeOf = Pick<OutcomeProps, 'report' | 'job'> & { readonly retries: number };

export function Outcome({ report, job, retries }: OutcomeOf): JSX.Element {
  return (
    <>
      {isUnplanned(report) ? null : <Counted report={report} job={job} retries={retries} />}
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
            <WellLink uwi={uwi} />,
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

function Counted({ report, job, retries }: OutcomeOf): JSX.Element {
  const { durationMs } = report;
  const pace = paceOf(rowsOf(report, job), durationMs);
  return (
    <Panel title="Counts" aside={<Balance report={report} />}>
      <Figures
        figures={[
          ...(job.units.isSingle
            ? []
            : [{ name: job.units.many, value: report.units.total, remark: unitsText(report, job) }]),
          ...countFigures(report.counts, job),
          {
            name: retries === 0 ? 'duration' : `in ${counted(retries + 1, 'attempt')}`,
            value: durationText(durationMs),
            ...(pace === undefined ? {} : { remark: `${figure(pace)} rows/s` }),
          },
        ]}
      />
    </Panel>
  );
}

/** Counts of how the work was cut, which tell a reader nothing. */
const inner = new Set(['chunks']);

export function countFigures(counts: ReportDocument['counts'], job: JobDescription): readonly ShownFigure[] {
  return shownCounts(counts, job)
    .filter(({ name }) => !inner.has(name))
    .map(({ name, count, remark }) => ({ name: countWords(name), value: count, remark }));
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

/** One row a reason, with its wells folded. */
export function Failures({ run, report, job }: Pick<OutcomeProps, 'run' | 'report' | 'job'>): JSX.Element | null {
  const whole = wholeFault(report, job)?.message;
  const groups = failureGroups({ failures: report.failures.filter(({ message }) => message !== whole) });
  if (groups.length === 0) return null;
  const { one, many, held } = job.units;
  const named = groups.reduce((sum, { targets }) => sum + targets.length, 0);
  const more = report.units.failed + report.units.held - named;
  const reasons = counted(groups.length, 'reason');
  return (
    <Panel
      title={`${many.replace(/^./, (letter) => letter.toUpperCase())} that failed or are ${held}`}
      aside={<span class="small muted">{reasons}</span>}
    >
      <ul class="list reasons">
        {groups.map((group) => (
          <li key={`${group.state} ${group.cause}`}>
            <Reason group={group} run={run} job={job} />
          </li>
        ))}
      </ul>
      {more > 0 ? (
        <p class="muted">
          and {counted(more, one, many)} more, below in the list of {many}
        </p>
      ) : null}
    </Panel>
  );
}

const mostUnfolded = 3;

interface ReasonProps extends Pick<OutcomeProps, 'run' | 'job'> {
  readonly group: FailureGroup;
}

function Reason({ group: { state, cause, hint, targets }, run, job }: ReasonProps): JSX.Element {
  const { one, many, held } = job.units;
  const isFew = targets.length <= mostUnfolded;
  const names = (
    <ul class="names">
      {targets.map((target) => (
        <li key={target}>
          <TargetName job={run.job} target={target} />
        </li>
      ))}
    </ul>
  );
  return (
    <>
      <span class="reason">
        <State tone={state === 'held' ? 'warn' : 'bad'} label={state === 'held' ? held : state} />
        <Name>{cause}</Name>
      </span>
      {hint === undefined ? null : <span class="muted">{hint}</span>}
      {isFew ? (
        names
      ) : (
        <details>
          <summary>{counted(targets.length, one, many)}</summary>
          {names}
        </details>
      )}
    </>
  );
}
