/** The parts that every page is made of: states, times, figures, tables, notes. What comes from outside is escaped. */
import type { ComponentChildren, JSX } from 'preact';
import { figure, printable } from '../../core/base/text.ts';
import type { RunState, UnitState } from '../../core/run/run.ts';

type Children = { readonly children?: ComponentChildren };

/** How a thing stands; each has a colour and a shape of its own. */
export type Tone = 'good' | 'warn' | 'bad' | 'idle';

export const severityTones = { error: 'bad', warning: 'warn', info: 'idle' } as const satisfies Record<string, Tone>;

/** Of a well or another target in a run. */
export const unitTones: Readonly<Record<UnitState, Tone>> = {
  open: 'idle',
  done: 'good',
  held: 'warn',
  unknown: 'warn',
  failed: 'bad',
  cancelled: 'idle',
};

const shapes = {
  good: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm3.7 5.3-4.4 5a.8.8 0 0 1-1.2 0L4 9.1l1.2-1.1 1.5 1.7 3.8-4.4Z',
  warn: 'M8 1 .5 15h15L8 1Zm-.8 5h1.6l-.2 5H7.4l-.2-5Zm.8 7.6a.9.9 0 1 1 0-1.8.9.9 0 0 1 0 1.8Z',
  bad: 'M5 1h6l4 4v6l-4 4H5l-4-4V5l4-4Zm.6 3.5L4.5 5.6 6.9 8l-2.4 2.4 1.1 1.1L8 9.1l2.4 2.4 1.1-1.1L9.1 8l2.4-2.4-1.1-1.1L8 6.9 5.6 4.5Z',
  idle: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 1.6a5.4 5.4 0 1 1 0 10.8A5.4 5.4 0 0 1 8 2.6Z',
  moving: 'M8 1a7 7 0 1 0 7 7h-1.7A5.3 5.3 0 1 1 8 2.7V1Z',
} as const;

function Shape({ of }: { readonly of: keyof typeof shapes }): JSX.Element {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" fill="currentColor">
      <path fill-rule="evenodd" d={shapes[of]} />
    </svg>
  );
}

interface StateProps {
  readonly tone: Tone;
  readonly label: string;
  readonly isMoving?: boolean;
  readonly isBadge?: boolean;
}

/** A state: a shape, a colour and a word. */
export function State({ tone, label, isMoving = false, isBadge = false }: StateProps): JSX.Element {
  const classes = ['state', tone, ...(isMoving ? ['moving'] : []), ...(isBadge ? ['badge'] : [])];
  return (
    <span class={classes.join(' ')}>
      <Shape of={isMoving ? 'moving' : tone} />
      {label}
    </span>
  );
}

const tones: Readonly<Record<RunState, Tone>> = {
  queued: 'idle',
  running: 'good',
  done: 'good',
  failed: 'bad',
  cancelled: 'idle',
  interrupted: 'warn',
};

/** `hasExceptions`: the run is done, with rejected, quarantined, held, refused or newly unknown ones. */
export function RunStateMark(props: {
  readonly state: RunState;
  readonly hasExceptions?: boolean;
  readonly isBadge?: boolean;
}): JSX.Element {
  const { state, hasExceptions = false, isBadge = false } = props;
  if (state === 'done' && hasExceptions) return <State tone="warn" label="done, with exceptions" isBadge={isBadge} />;
  return <State tone={tones[state]} label={state} isMoving={state === 'running'} isBadge={isBadge} />;
}

/** An instant, ISO 8601 in UTC, as text, which the script shows in the reader's zone; the title has both. */
export function Time(props: {
  readonly at: string | null;
  readonly empty?: string;
  readonly hasSeconds?: boolean;
}): JSX.Element {
  const { at, empty = '–', hasSeconds = false } = props;
  if (at === null) return <span class="muted">{empty}</span>;
  const utc = `${at.slice(0, 10)} ${at.slice(11, hasSeconds ? 19 : 16)} UTC`;
  return (
    <time dateTime={at} title={utc} {...(hasSeconds ? { 'data-seconds': '' } : {})}>
      {utc}
    </time>
  );
}

/** Foreign text: it may be long, and may run from right to left. */
export function Name({ children }: Children): JSX.Element {
  return (
    <bdi class="name" dir="auto">
      {typeof children === 'string' ? printable(children) : children}
    </bdi>
  );
}

/** Who asked for something. */
export function Person({ name }: { readonly name: string | null }): JSX.Element | null {
  return name === null ? null : <Name>{name}</Name>;
}

/** A well by its name, which leads to its page. */
export function WellLink({ uwi }: { readonly uwi: string }): JSX.Element {
  return (
    <a href={`/wells/${encodeURIComponent(uwi)}`}>
      <Name>{uwi}</Name>
    </a>
  );
}

export function RunLink({ runId }: { readonly runId: string }): JSX.Element {
  return (
    <a class="id" href={`/runs/${encodeURIComponent(runId)}`}>
      {runId}
    </a>
  );
}

/** The wells that a wrong name is nearest to. */
export function NearWells({ uwis }: { readonly uwis: readonly string[] }): JSX.Element {
  return (
    <p>
      Nearest names: {uwis.flatMap((uwi, index) => [...(index === 0 ? [] : [', ']), <WellLink key={uwi} uwi={uwi} />])}
    </p>
  );
}

/** In place of a retry that would ask the service for the same unknown names once more. */
export function OfUnknown(): JSX.Element {
  return (
    <span class="muted">
      The service does not know what is left: take it out of the list, or <a href="/coverage/unknown">see the names</a>.
    </span>
  );
}

/** What is true while Redis is away, on every page. */
export function RedisAway({ fault }: { readonly fault?: string | undefined }): JSX.Element {
  return (
    <Remark tone="bad" title="Redis does not answer">
      <p>
        No work starts meanwhile. Runs that are under way wait, and go on by themselves when it is back: nothing is
        lost.
        {fault === undefined ? null : <span class="muted"> {fault}.</span>}
      </p>
      <a href="/service?check=yes">Check every part</a>
    </Remark>
  );
}

/** The title of a page, with what can be done on it. */
export function Heading({ title, children }: Children & { readonly title: ComponentChildren }): JSX.Element {
  return (
    <div class="title">
      <h1>{title}</h1>
      <div class="actions">{children}</div>
    </div>
  );
}

interface PanelProps extends Children {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly id?: string;
}

export function Panel({ title, aside, id, children }: PanelProps): JSX.Element {
  return (
    <section class="panel" {...(id === undefined ? {} : { id })}>
      <div class="panel-head">
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

/** What is shown where there is nothing: what it means, and what to do next. */
export function Empty({ title, children }: Children & { readonly title: string }): JSX.Element {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

interface RemarkProps extends Children {
  readonly tone: Tone;
  readonly title?: string;
}

export function Remark({ tone, title, children }: RemarkProps): JSX.Element {
  return (
    <div class={`note ${tone}`} role={tone === 'bad' ? 'alert' : 'note'}>
      {title === undefined ? null : <strong>{title}</strong>}
      {children}
    </div>
  );
}

export interface ShownFigure {
  readonly name: string;
  readonly value: number | string | undefined;
  readonly remark?: ComponentChildren;
}

export function Figures({ figures }: { readonly figures: readonly ShownFigure[] }): JSX.Element {
  return (
    <dl class="figures">
      {figures.map(({ name, value, remark }) => (
        <div class="figure" key={name}>
          <dt>{name}</dt>
          <dd>
            {typeof value === 'number' ? figure(value) : (value ?? '–')}
            {remark === undefined ? null : <small>{remark}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function Facts({ facts }: { readonly facts: ReadonlyArray<readonly [string, ComponentChildren]> }): JSX.Element {
  return (
    <dl class="facts">
      {facts.flatMap(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} is`}>{value}</dd>])}
    </dl>
  );
}

export interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
  /** Left out on a phone. */
  readonly isWideOnly?: boolean;
}

interface TableProps {
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly rows: ReadonlyArray<{ readonly key: string; readonly cells: readonly ComponentChildren[] }>;
}

/** The first cell of a row is its header. */
export function Table({ caption, columns, rows }: TableProps): JSX.Element {
  const classOf = (index: number): string =>
    [columns[index]?.isNumber === true ? 'number' : '', columns[index]?.isWideOnly === true ? 'wide-only' : '']
      .join(' ')
      .trim();
  return (
    <div class="scroll">
      <table class="cards">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title }, index) => (
              <th scope="col" key={title} class={classOf(index)}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, index) =>
                index === 0 ? (
                  <th scope="row" class={classOf(index)} data-title={columns[index]?.title}>
                    {cell}
                  </th>
                ) : (
                  <td class={classOf(index)} data-title={columns[index]?.title}>
                    {cell}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Progress({ done, whole, label }: Readonly<Record<'done' | 'whole', number>> & { label: string }) {
  return (
    <progress max={whole} value={done} aria-label={label}>
      {label}
    </progress>
  );
}
