/** The wells of a run, or its equipment or targets: what became of each, filtered and in pages. */
import type { JSX } from 'preact';
import { z } from 'zod';
import { hasWellPages } from '../../app/runs/run-scope.ts';
import type { RunUnitDocument, RunUnitsDocument, UnitQuestion } from '../../app/runs/run-units.ts';
import { unitStates } from '../../app/runs/run-units.ts';
import { counted, durationText, figure } from '../../core/base/text.ts';
import type { JobDescription } from '../../core/run/job-description.ts';
import { Choice, Field } from './forms.tsx';
import { type Column, Empty, Name, Panel, State, Table, unitTones, WellLink } from './parts.tsx';

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
