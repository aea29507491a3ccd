/** What came of a run that has ended: why it failed, what it counted, and what differs. */
import type { JSX } from 'preact';
import {
  type FilledWell,
  type RunUnitDocument,
  type RunUnitsDocument,
  type UnitQuestion,
  unitStates,
} from '../../app/runs/run-units.ts';
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
import {
  type Column,
  Empty,
  Figures,
  Name,
  Panel,
  Remark,
  type ShownFigure,
  State,
  Table,
  unitTones,
  WellLink,
} from './parts.tsx';
import { z } from 'zod';
import { hasWellPages } from '../../app/runs/run-scope.ts';
import { Choice, Field } from './forms.tsx';

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

// The wells of a run, or its equipment or targets: what became of each, filtered and in pages.

const unitsOnPage = 50;

/** In the address of the page of a run. */
export const unitFields = {
  unit: z.enum(['', ...unitStates]).catch(''),
  name: z.string().max(1_000).catch(''),
  at: z.coerce.number().int().min(0).max(10_000_000).catch(0),
};

export interface UnitFields {
  readonly unit: '' | (typeof unitStates)[number];
  readonly name: string;
  readonly at: number;
}

export function unitQuestion({ unit, name, at }: UnitFields): UnitQuestion {
  return { limit: unitsOnPage, offset: at, ...(unit === '' ? {} : { state: unit }), ...(name === '' ? {} : { name }) };
}

/** A name that leads to the page of the well, where it is one that has a page. */
export function TargetName({ job, target }: { readonly job: string; readonly target: string }): JSX.Element {
  return hasWellPages(job) ? <WellLink uwi={target} /> : <Name>{target}</Name>;
}

interface RunWellsProps {
  readonly job: string;
  readonly description: JobDescription;
  readonly units: RunUnitsDocument;
  readonly fields: UnitFields;
  /** Address of the page with other fields. */
  readonly addressOf: (changed: Readonly<Record<string, string>>) => string;
  /** What else is in the address, for the form. */
  readonly kept: Readonly<Record<string, string>>;
}

export function RunWells(props: RunWellsProps): JSX.Element | null {
  const { description, units, fields, addressOf } = props;
  const { one, many, isSingle } = description.units;
  const all = Object.values(units.states).reduce((sum, count) => sum + count, 0);
  if (isSingle === true || all === 0) return null;
  const title = many.replace(/^./, (letter) => letter.toUpperCase());
  const { matches, offset } = units;
  const last = offset + units.units.length;
  return (
    <Panel title={title} id="wells" aside={<span class="small muted">{counted(all, one, many)}</span>}>
      <Filter {...props} />
      {units.units.length === 0 ? (
        <Empty title={`No such ${one} in this run`}>
          <a href={addressOf({ unit: '', name: '', at: '' })}>Show all of them</a>
        </Empty>
      ) : (
        <UnitTable {...props} />
      )}
      {matches <= unitsOnPage && offset === 0 ? null : (
        <nav class="pages" aria-label={title}>
          <span class="muted">
            {figure(Math.min(offset + 1, last))} to {figure(last)} of {figure(matches)}
          </span>
          {offset === 0 ? null : (
            <a class="button" href={addressOf({ ...fieldsOf(fields), at: String(Math.max(0, offset - unitsOnPage)) })}>
              Before
            </a>
          )}
          {last >= matches ? null : (
            <a class="button" href={addressOf({ ...fieldsOf(fields), at: String(offset + unitsOnPage) })}>
              Next
            </a>
          )}
        </nav>
      )}
    </Panel>
  );
}

function fieldsOf({ unit, name }: UnitFields): Readonly<Record<string, string>> {
  return { unit, name };
}

function Filter({ description, units: { states }, fields, kept, addressOf }: RunWellsProps): JSX.Element {
  const { one, many, held } = description.units;
  const choices = unitStates.flatMap((state): Array<readonly [string, string]> => {
    const count = states[state];
    return count === undefined ? [] : [[state, `${stateWord(state, held)} (${figure(count)})`]];
  });
  return (
    <form method="get" action={`${addressOf({}).split(/[#?]/, 1)[0] ?? ''}#wells`} class="row">
      {Object.entries(kept).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <Choice label="State" name="unit" value={fields.unit} choices={[['', 'any'], ...choices]} />
      <Field label={`Part of the name of the ${one}`}>
        <input type="search" name="name" value={fields.name} maxLength={1_000} />
      </Field>
      <button type="submit">Show {many}</button>
      {fields.unit === '' && fields.name === '' ? null : (
        <a class="button" href={addressOf({ unit: '', name: '', at: '' })}>
          Clear
        </a>
      )}
    </form>
  );
}

interface UnitColumn extends Column {
  readonly cell: (unit: RunUnitDocument, props: RunWellsProps) => JSX.Element | string;
  /** Left out where no unit has it. */
  readonly has?: (unit: RunUnitDocument) => boolean;
}

function stateWord(state: RunUnitDocument['state'], held: string): string {
  if (state === 'open') return 'to do';
  return state === 'held' ? held : state;
}

const columns: readonly UnitColumn[] = [
  { title: 'Name', cell: ({ target }, { job }) => <TargetName job={job} target={target} /> },
  {
    title: 'State',
    cell: ({ state }, { description }) => (
      <State tone={unitTones[state]} label={stateWord(state, description.units.held)} />
    ),
  },
  {
    title: 'Days',
    cell: ({ days }) => (days === null ? '' : <span class="days">{days}</span>),
    has: ({ days }) => days !== null,
  },
  {
    title: 'Rows',
    isNumber: true,
    cell: ({ rows }) => (rows === null ? '' : figure(rows)),
    has: ({ rows }) => rows !== null,
  },
  { title: 'Exceptions', cell: ({ exceptions }) => exceptions ?? '', has: ({ exceptions }) => exceptions !== null },
  {
    title: 'Read in',
    isNumber: true,
    cell: ({ durationMs }) => (durationMs === null ? '' : durationText(durationMs)),
    has: ({ durationMs }) => durationMs !== null,
  },
  {
    title: 'Reason',
    cell: ({ reason }) => (reason === null ? '' : <Name>{reason}</Name>),
    has: ({ reason }) => reason !== null,
  },
];

function UnitTable(props: RunWellsProps): JSX.Element {
  const { units } = props.units;
  const { many } = props.description.units;
  const shown = columns.filter(({ has }) => has === undefined || units.some(has));
  return (
    <Table
      caption={`The ${many} of this run`}
      columns={shown}
      rows={units.map((unit, index) => ({
        key: `${unit.target} ${index}`,
        cells: shown.map(({ cell }) => cell(unit, props)),
      }))}
    />
  );
}
