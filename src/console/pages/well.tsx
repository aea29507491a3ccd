/** One well: its plot, its gaps, and what was restated. */
import type { JSX } from 'preact';
import { plottedColumns, type RestatedValue, type WellView } from '../../app/wells/well.ts';
import { counted, figure } from '../../core/base/text.ts';
import { dayText } from '../../core/time/production-day.ts';
import { ActionForm, Field, mayAct, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Facts, Name, Panel, Table } from './parts.tsx';

interface WellProps {
  readonly frame: Frame;
  readonly well: WellView;
  /** The days that a backfill is proposed for, YYYY-MM-DD, `to` exclusive. */
  readonly proposed: { readonly from: string; readonly to: string } | undefined;
  readonly reader: Reader;
}

const groups = [
  { group: 'rates', title: 'Rates' },
  { group: 'pressures', title: 'Pressures' },
  { group: 'downtime', title: 'Downtime' },
] as const;

export function WellPage({ frame, well, proposed, reader }: WellProps): JSX.Element {
  const { uwi, firstDay, lastDay } = well;
  return (
    <Page {...frame} title={uwi} section="Coverage" scripts={['well.js']} styles={['uPlot.min.css']}>
      <div class="title">
        <h1>
          <Name>{uwi}</Name>
        </h1>
        <div class="actions">
          <a class="button" href="/coverage">
            Map of all wells
          </a>
        </div>
      </div>
      {firstDay === undefined ? (
        <section class="panel">
          <Empty title="The warehouse has no row of this well">
            <p>
              {well.unknownSince === null
                ? 'It was never read, or has no production.'
                : 'The service does not know it.'}
            </p>
          </Empty>
        </section>
      ) : (
        <section
          class="panel"
          id="plots"
          data-series={`/wells/${encodeURIComponent(uwi)}/series`}
          data-columns={JSON.stringify(plottedColumns)}
        >
          <div class="panel-head">
            <h2>
              {firstDay} to {lastDay}
            </h2>
            <span class="small muted">Drag to zoom, double-click for all. The interface names no units of rates.</span>
          </div>
          {groups.map(({ group, title }) => (
            <div key={group} class="plot" data-group={group} role="img" aria-label={`${title} of ${uwi} by day`} />
          ))}
          <p id="plot-state" class="small muted" role="status">
            Reading …
          </p>
        </section>
      )}
      <div class="columns">
        <Panel title="What is known">
          <Facts facts={factsOf(well)} />
        </Panel>
        <Gaps well={well} proposed={proposed} reader={reader} />
      </div>
      <Restated restated={well.restated} />
    </Page>
  );
}

function factsOf({ days, readUpTo, unknownSince, lastDay }: WellView) {
  return [
    ['Last day', lastDay ?? 'none'],
    ['Read up to', readUpTo?.slice(0, 10) ?? 'never read'],
    ['Present', counted(days.present, 'day')],
    ['Missing in a read', counted(days.missing, 'day')],
    ['Quarantined', counted(days.quarantined, 'day')],
    ['Never read', counted(days.neverRead, 'day')],
    ...(unknownSince === null ? [] : [['Unknown to the service since', unknownSince.slice(0, 10)] as const]),
  ] as const;
}

const mostGapsShown = 8;

function Gaps({ well: { uwi, gaps }, proposed, reader }: Pick<WellProps, 'well' | 'proposed' | 'reader'>): JSX.Element {
  const path = `/wells/${encodeURIComponent(uwi)}`;
  return (
    <Panel title={gaps.length === 0 ? 'No gap' : counted(gaps.length, 'gap')}>
      {gaps.length === 0 ? null : (
        <ul class="list">
          {gaps.slice(0, mostGapsShown).map(({ fromDay, toDay }) => (
            <li key={fromDay}>
              <a href={`${path}?from=${dayText(fromDay)}&to=${dayText(toDay)}#backfill`}>
                {dayText(fromDay)} to {dayText(toDay - 1)} ({counted(toDay - fromDay, 'day')})
              </a>
            </li>
          ))}
          {gaps.length > mostGapsShown ? <li class="muted">and {figure(gaps.length - mostGapsShown)} more</li> : null}
        </ul>
      )}
      {!mayAct(reader) ? null : (
        <div id="backfill">
          <ActionForm asks="POST /api/v1/runs" reader={reader} body={{ export: 'daily-production', uwis: [uwi] }}>
            <Field label="Read again from">
              <input type="date" name="from" required value={proposed?.from} />
            </Field>
            <Field label="up to, without">
              <input type="date" name="to" required value={proposed?.to} />
            </Field>
            <button type="submit" class={proposed === undefined ? undefined : 'first'}>
              Backfill
            </button>
          </ActionForm>
        </div>
      )}
    </Panel>
  );
}

const mostRestatedShown = 50;

function Restated({ restated }: { readonly restated: readonly RestatedValue[] }): JSX.Element | null {
  if (restated.length === 0) return null;
  const titles = new Map<string, string>(plottedColumns.map(({ column, title }) => [column, title]));
  return (
    <Panel
      title="Restated"
      aside={<span class="small muted">{counted(restated.length, 'value')}, the latest first</span>}
    >
      <Table
        caption="Restated values"
        columns={[
          { title: 'Day' },
          { title: 'Field' },
          { title: 'Before', isNumber: true },
          { title: 'Now', isNumber: true },
          { title: 'Noticed at (UTC)' },
          { title: 'By run' },
        ]}
        rows={restated.slice(0, mostRestatedShown).map((each) => ({
          key: `${each.day} ${each.column} ${each.noticedAt}`,
          cells: [
            dayText(each.day),
            each.column === null ? 'the whole row' : (titles.get(each.column) ?? each.column),
            each.before ?? '',
            each.column === null ? 'removed' : (each.after ?? ''),
            each.noticedAt,
            <a class="id" href={`/runs/${encodeURIComponent(each.runId)}`}>
              {each.runId}
            </a>,
          ],
        }))}
      />
      {restated.length > mostRestatedShown ? (
        <p class="muted">
          All of them: <code>wellsync restatements --since 1970-01-01 --uwi …</code>
        </p>
      ) : null}
    </Panel>
  );
}
