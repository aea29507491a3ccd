/** The log about a run as a table, filtered by level and words. */
import type { JSX } from 'preact';
import { z } from 'zod';
import type { RunLogLine } from '../../app/runs/run-log.ts';
import { counted, spacedName } from '../../core/base/text.ts';
import { Choice, Field } from './forms.tsx';
import { Empty, Name, Panel, State, Table, Time, type Tone } from './parts.tsx';
import { TargetName } from './run-wells.tsx';

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
