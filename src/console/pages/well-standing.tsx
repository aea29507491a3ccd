/** The first words of a well's page: why it has no data, what to do about it, and its last days. */
import type { JSX } from 'preact';
import { daysBetween, stripOf, type WellDocument } from '../../app/wells/well.ts';
import { counted } from '../../core/base/text.ts';
import { ActionButton, type Reader } from './forms.tsx';
import { RunLink, severityTones, State, Time } from './parts.tsx';

type Standing = WellDocument['standings'][number];
type DayState = WellDocument['stretches'][number]['state'];

const labels: Readonly<Record<Standing['kind'], string>> = {
  unknown: 'unknown',
  failed: 'failed',
  error: 'error',
  held: 'held',
  quarantined: 'quarantined',
  accepted: 'accepted',
  partial: 'read in part',
  'not-read': 'not read',
  silent: 'silent',
  plugged: 'plugged',
  gaps: 'gaps',
  empty: 'no data',
  complete: 'complete',
};

interface Props {
  readonly well: WellDocument;
  readonly reader: Reader;
}

export function Standings({ well, reader }: Props): JSX.Element {
  return (
    <section class="panel standings" aria-label="How the well stands">
      {well.standings.map((standing, index) => (
        <div key={`${standing.kind} ${standing.runId ?? ''}`} class={index === 0 ? 'standing first-one' : 'standing'}>
          <State
            tone={standing.kind === 'complete' ? 'good' : severityTones[standing.severity]}
            label={labels[standing.kind]}
          />
          <p>
            {standing.parts.map((part) => {
              if (typeof part === 'string') return part;
              if ('runId' in part) return <RunLink runId={part.runId} />;
              return <Time at={new Date(part.atMs).toISOString()} />;
            })}
          </p>
          <Act well={well} standing={standing} reader={reader} />
        </div>
      ))}
      <Strip well={well} />
    </section>
  );
}

/** What can be done about it, beside it. */
function Act({ well: { uwi }, standing, reader }: Props & { readonly standing: Standing }): JSX.Element | null {
  const { kind, days, runId } = standing;
  const form = { asks: 'POST /api/v1/runs', reader };
  const body = { export: 'daily-production', uwis: [uwi] };
  switch (kind) {
    case 'held':
      return (
        <a class="button first" href={`/runs/${encodeURIComponent(runId ?? '')}`}>
          See and release the held rows
        </a>
      );
    case 'failed':
      return (
        <div class="actions">
          <ActionButton
            {...form}
            body={{ ...body, ...days }}
            label={days === null ? 'Export again' : 'Read those days again'}
            kind="first"
          />
          <a class="button" href={`/runs/${encodeURIComponent(runId ?? '')}`}>
            Open the run
          </a>
        </div>
      );
    case 'quarantined':
      return days === null ? (
        <ActionButton {...form} body={body} label="Export again" kind="first" />
      ) : (
        <div class="actions">
          <ActionButton
            {...form}
            body={{ ...body, ...days }}
            label={`Read ${counted(daysBetween(days), 'day')} again`}
            kind="first"
          />
          <a class="button" href="#quarantined">
            Show the records
          </a>
        </div>
      );
    case 'silent':
    case 'not-read':
      return (
        <ActionButton
          {...form}
          body={{ ...body, ...days }}
          label={`Ask again for ${days === null ? 'them' : counted(daysBetween(days), 'day')}`}
          kind="first"
        />
      );
    case 'gaps':
      return days === null ? null : (
        <a class="button" href={`?from=${days.from}&to=${days.to}#days`} data-gap>
          Show the latest gap
        </a>
      );
    case 'unknown':
    case 'empty':
      return <ActionButton {...form} body={body} label="Ask again" kind="first" />;
    case 'partial':
      return <ActionButton {...form} body={body} label="Export its history" kind="first" />;
    case 'accepted':
      return (
        <a class="button" href="#quarantined">
          Show the records
        </a>
      );
    case 'error':
    case 'plugged':
    case 'complete':
      return null;
  }
}

const stripHeight = 24;
const dayWidth = 10;

/** The words of the states of days, in the order of the legend. */
const stateWords: Readonly<Record<DayState, string>> = {
  present: 'present',
  restated: 'restated',
  held: 'held',
  quarantined: 'quarantined',
  'quarantined-kept': 'quarantined, the earlier row stays and counts',
  missing: 'missing at the service',
  undecided: 'not verified yet',
  'never-read': 'never read',
};

/** The last days, by state: to yesterday, or to the last one that has a row. */
function Strip({ well }: Pick<Props, 'well'>): JSX.Element | null {
  const strip = stripOf(well);
  if (strip === undefined) return null;
  const { days, firstDay, lastDay, parts, weeks } = strip;
  const counts = new Map<DayState, number>();
  for (const { from, to, state } of parts) counts.set(state, (counts.get(state) ?? 0) + to - from);
  const states = (Object.keys(stateWords) as DayState[]).filter((state) => counts.has(state));
  const summary = states.map((state) => `${counts.get(state)} ${stateWords[state]}`).join(', ');
  return (
    <div class="strip">
      <svg
        viewBox={`0 0 ${days * dayWidth} ${stripHeight}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`The last ${days} days: ${summary}`}
      >
        <StripPatterns />
        {parts.map(({ from, to, state, text }) => (
          <rect key={from} class={state} x={from * dayWidth} width={(to - from) * dayWidth} height={stripHeight}>
            <title>{`${text}: ${stateWords[state]}`}</title>
          </rect>
        ))}
        {weeks.map((cell) => (
          <path key={cell} class="week" d={`M${cell * dayWidth} 0v${stripHeight}`} />
        ))}
      </svg>
      <div class="strip-ends small muted">
        <span>{firstDay}</span>
        <span>{lastDay}</span>
      </div>
      <StateLegend states={states} />
    </div>
  );
}

function StripPatterns(): JSX.Element {
  return (
    <defs>
      <pattern id="hatched" width="8" height="8" patternUnits="userSpaceOnUse">
        <path class="ground missing-ground" d="M0 0h8v8h-8z" />
        <path d="M-2 10 10-2M-2 2 2-2M6 10l4-4" />
      </pattern>
      <pattern id="dotted" width="10" height="12" patternUnits="userSpaceOnUse">
        <path class="ground quarantined-ground" d="M0 0h10v12h-10z" />
        <circle cx="5" cy="6" r="2" />
      </pattern>
      <pattern id="barred" width="10" height="8" patternUnits="userSpaceOnUse">
        <path class="ground held-ground" d="M0 0h10v8h-10z" />
        <path d="M0 4h10" />
      </pattern>
    </defs>
  );
}

/** The scripts of the page have the words from here. */
export function StateLegend({ states }: { readonly states: readonly DayState[] }): JSX.Element {
  return (
    <div class="legend" data-words={JSON.stringify(stateWords)}>
      {states.map((state) => (
        <span key={state}>
          <i class={state} /> {stateWords[state]}
        </span>
      ))}
    </div>
  );
}
