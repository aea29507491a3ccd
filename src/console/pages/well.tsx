/** One well: its plot, its gaps, and what was restated. */
import type { JSX } from 'preact';
import { z } from 'zod';
import { nearestWells } from '../../app/search/search.ts';
import { plottedTitles, type WellDocument, wellDocument, wellSeriesOf } from '../../app/wells/well.ts';
import { counted, figure } from '../../core/base/text.ts';
import { RequestProblem } from '../problem.ts';
import { ActionForm, Field, mayAct, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Facts, Heading, Name, Panel, RunLink, Table } from './parts.tsx';
import type { Pages } from './routes.tsx';

export function addWellPages(pages: Pages): void {
  const { app, reader } = pages.context;
  const params = z.object({
    uwi: z
      .string()
      .max(1_000)
      .regex(/^[^\0]*$/, 'holds a NUL'),
  });
  const day = z.iso.date().optional();
  pages.server.route({
    method: 'GET',
    url: '/coverage/well',
    config: { access: 'read' },
    schema: { hide: true, querystring: z.object({ uwi: z.string().min(1).max(1_000) }) },
    handler: async ({ query: { uwi } }, reply) => reply.redirect(`/wells/${encodeURIComponent(uwi)}`, 303),
  });
  pages.add({
    url: '/wells/:uwi',
    params,
    query: z.object({
      from: day,
      to: day,
      month: z
        .string()
        .regex(/^\d{4}-\d{2}$/)
        .optional(),
    }),
    page: async ({ frame, caller, nowMs }, { params: { uwi }, query }) => {
      const { value } = await reader.read(`well ${uwi}`, () => wellDocument(app, uwi, nowMs));
      if (value.readUpTo === null && value.unknownSince === null && value.days.asked === 0) {
        const { value: nearWells } = await reader.read(`near ${uwi}`, () => nearestWells(app, uwi));
        throw new RequestProblem(404, 'no-such-well', `no well ${uwi} was ever read`, { nearWells });
      }
      return (
        <WellPage
          frame={frame}
          well={value}
          columns={plottedTitles(app.config)}
          proposed={proposedOf(query)}
          reader={caller}
        />
      );
    },
  });
  pages.server.route({
    method: 'GET',
    url: '/wells/:uwi/series',
    config: { access: 'read' },
    schema: { hide: true, params },
    handler: async ({ params: { uwi } }) => (await reader.read(`series ${uwi}`, () => wellSeriesOf(app, uwi))).value,
  });
}

interface Proposed {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly month?: string | undefined;
}

function proposedOf({ from, to, month }: Proposed): { readonly from: string; readonly to: string } | undefined {
  if (from !== undefined && to !== undefined) return { from, to };
  if (month === undefined) return undefined;
  const [year = 0, number = 1] = month.split('-').map(Number);
  return { from: `${month}-01`, to: new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 10) };
}

interface WellProps {
  readonly frame: Frame;
  readonly well: WellDocument;
  /** Of the plots, with their units. */
  readonly columns: ReturnType<typeof plottedTitles>;
  /** The days that a backfill is proposed for, YYYY-MM-DD, `to` exclusive. */
  readonly proposed: { readonly from: string; readonly to: string } | undefined;
  readonly reader: Reader;
}

const groups = [
  { group: 'rates', title: 'Rates' },
  { group: 'pressures', title: 'Pressures' },
  { group: 'downtime', title: 'Downtime' },
] as const;

function WellPage({ frame, well, columns, proposed, reader }: WellProps): JSX.Element {
  const { uwi, firstDay, lastDay } = well;
  return (
    <Page {...frame} title={uwi} section="Coverage" scripts={['well.js']} styles={['uPlot.min.css']}>
      <Heading title={<Name>{uwi}</Name>}>
        <a class="button" href="/coverage">
          Map of all wells
        </a>
      </Heading>
      {firstDay === null ? (
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
          data-columns={JSON.stringify(columns)}
        >
          <div class="panel-head">
            <h2>
              {firstDay} to {lastDay}
            </h2>
            <span class="small muted">
              Drag to zoom, double-click for all. Units are those of the settings: nothing is converted.
            </span>
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
      <Restated restated={well.restated} columns={columns} />
    </Page>
  );
}

function factsOf({ days, readUpTo, unknownSince, lastDay }: WellDocument) {
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
          {gaps.slice(0, mostGapsShown).map(({ from, lastDay, to, days }) => (
            <li key={from}>
              <a href={`${path}?from=${from}&to=${to}#backfill`}>
                {from} to {lastDay} ({counted(days, 'day')})
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

function Restated({
  restated,
  columns,
}: Pick<WellDocument, 'restated'> & Pick<WellProps, 'columns'>): JSX.Element | null {
  if (restated.length === 0) return null;
  const titles = new Map<string, string>(columns.map(({ column, title }) => [column, title]));
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
            each.day,
            each.column === null ? 'the whole row' : (titles.get(each.column) ?? each.column),
            each.before ?? '',
            each.column === null ? 'removed' : (each.after ?? ''),
            each.noticedAt,
            <RunLink runId={each.runId} />,
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
