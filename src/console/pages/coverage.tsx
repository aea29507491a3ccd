/** How complete the warehouse is: a map of all wells by month, and the lists of wells that need a look. */
import type { ComponentChildren, JSX } from 'preact';
import { z } from 'zod';
import {
  choiceCounts,
  chosenWells,
  coverageBlockOf,
  type CoverageMap,
  coverageMapOf,
  type MapChoice,
  mapChoices,
  type MapOrder,
  mapOrders,
  type MapWell,
  type StaleWell,
  staleWells,
  type UnknownWell,
  unknownWells,
} from '../../app/wells/coverage.ts';
import type { LedgerReader } from '../../app/warehouse/last-known.ts';
import { counted, figure } from '../../core/base/text.ts';
import { ActionButton, Choice, Field, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Figures, Heading, RunLink, Table, Time, WellLink } from './parts.tsx';
import type { Pages } from './routes.tsx';
import { StateLegend } from './well-standing.tsx';

/** How long the wells of a map are those of its blocks. */
const mapMs = 300_000;

export function addCoveragePages(pages: Pages): void {
  const { app } = pages.context;
  /** Its blocks are those of these wells. */
  let lastMap: { readonly atMs: number; readonly map: CoverageMap } | undefined;
  const readMap = async (reader: LedgerReader, nowMs: number): Promise<CoverageMap> => {
    const { value: map } = await reader.read(['coverage'], () => coverageMapOf(app, nowMs));
    lastMap = { atMs: nowMs, map };
    return map;
  };
  pages.add({
    url: '/coverage',
    query: pageQuery,
    page: async ({ frame, reader, caller, nowMs }, { query }) => {
      const map = await readMap(reader, nowMs);
      return <CoveragePage frame={frame} map={map} query={query} reader={caller} />;
    },
  });
  pages.server.route({
    method: 'GET',
    url: '/coverage/block',
    config: { access: 'read' },
    schema: { hide: true, querystring: mapQuery.extend({ from: z.coerce.number().int().min(0) }) },
    handler: async ({ query: { from, ...chosen } }) => {
      const { reader } = pages.context;
      const nowMs = Date.now();
      const { atMs, map } = lastMap ?? { atMs: -Infinity, map: undefined };
      const { wells } = map === undefined || nowMs - atMs > mapMs ? await readMap(reader, nowMs) : map;
      const question = { all: chosenWells(wells, chosen), from, nowMs };
      return (await reader.read(['coverage from', from, chosen], () => coverageBlockOf(app, question))).value;
    },
  });
  pages.add({
    url: '/coverage/stale',
    page: async ({ frame, reader, nowMs }) => {
      const { value } = await reader.read(['stale'], () => staleWells(app, { nowMs }));
      return <StalePage frame={frame} wells={value} warnAfterDays={app.config.freshness.warnAfterDays} />;
    },
  });
  pages.add({
    url: '/coverage/unknown',
    page: async ({ frame, reader }) => {
      const { value } = await reader.read(['unknown'], () => unknownWells(app, {}));
      return <UnknownPage frame={frame} wells={value} />;
    },
  });
}

interface CoverageProps {
  readonly frame: Frame;
  readonly map: CoverageMap;
  readonly query: MapPageQuery;
  readonly reader: Reader;
}

function CoveragePage({ frame, map, query, reader }: CoverageProps): JSX.Element {
  const { wells, wellsWithHoles, days, firstMonth, lastMonth } = map;
  if (firstMonth === undefined || lastMonth === undefined) {
    return (
      <Page {...frame} title="Coverage" section="Coverage">
        <h1>Coverage</h1>
        <section class="panel">
          <Empty title="The warehouse knows no day of any well yet">
            <p>
              Export the first wells: <code>wellsync export daily-production --wells wells.csv</code>
            </p>
          </Empty>
        </section>
      </Page>
    );
  }
  const asked = days.present + days.quarantined + days.missing + days.neverRead;
  const [chosen, counts] = [chosenWells(wells, query), choiceCounts(wells)];
  return (
    <Page
      {...frame}
      title="Coverage"
      section="Coverage"
      scripts={query.as === 'map' && chosen.length > 0 ? ['coverage.js'] : []}
    >
      <Heading title={headline(wells.length, counts.attention, asked)}>
        {wellsWithHoles > 0 ? (
          <ActionButton
            asks="POST /api/v1/runs"
            reader={reader}
            body={{ export: 'daily-production', gaps: true, fromWarehouse: true }}
            label="Read just the gaps"
            kind="first"
          />
        ) : null}
        <a class="button" href="/coverage/stale">
          Stale wells
        </a>
        <a class="button" href="/coverage/unknown">
          Unknown wells
        </a>
      </Heading>
      <section class="panel">
        <Figures
          figures={[
            { name: 'days present', value: days.present, remark: shareText(days.present, asked) },
            { name: 'missing at the service', value: days.missing, remark: shareText(days.missing, asked) },
            { name: 'quarantined', value: days.quarantined, remark: shareText(days.quarantined, asked) },
            { name: 'never read', value: days.neverRead, remark: shareText(days.neverRead, asked) },
          ]}
        />
      </section>
      <section class="panel">
        <div class="panel-head">
          <h2>{chosen.length === wells.length ? 'Wells by month' : `${counted(chosen.length, 'well')} by month`}</h2>
          <StateLegend states={['present', 'missing', 'quarantined', 'held', 'restated', 'never-read']} />
        </div>
        <MapFilter counts={counts} query={query} />
        {query.as === 'table' ? (
          <WellTable wells={chosen} query={query} />
        ) : (
          <WellMap wells={chosen} firstMonth={firstMonth} lastMonth={lastMonth} query={query} />
        )}
      </section>
    </Page>
  );
}

function headline(wells: number, need: number, asked: number): string {
  if (need === 0) return `${counted(wells, 'well')}, ${counted(asked, 'day')}: none needs a look`;
  return `${figure(need)} of ${counted(wells, 'well')} ${need === 1 ? 'needs' : 'need'} a look`;
}

function shareText(days: number, asked: number): string {
  if (asked === 0) return '';
  const share = (100 * days) / asked;
  return days > 0 && share < 0.1 ? 'less than 0.1 %' : `${share.toFixed(1)} %`;
}

interface WellMapProps extends Readonly<Record<'firstMonth' | 'lastMonth', string>> {
  readonly wells: readonly MapWell[];
  readonly query: MapPageQuery;
}

function WellMap({ wells, firstMonth, lastMonth, query }: WellMapProps): JSX.Element {
  if (wells.length === 0) return <WellTable wells={wells} query={query} />;
  return (
    <>
      <div
        class="map"
        id="map"
        tabIndex={0}
        role="application"
        aria-label="Map of coverage: arrows move by month and well, Enter opens the month of the well"
        aria-describedby="cell"
        data-wells={wells.length}
        data-first={firstMonth.slice(0, 7)}
        data-last={lastMonth.slice(0, 7)}
        data-query={queryText(query, {})}
      >
        <canvas />
        <div class="extent" />
      </div>
      <p id="cell" class="small muted" role="status">
        Point at a month, or use the arrow keys, to see its days. A click opens it.
      </p>
      <noscript>
        <p class="note idle">The map needs JavaScript. This is its table.</p>
        <WellTable wells={wells} query={{ ...query, as: 'table' }} />
      </noscript>
    </>
  );
}

interface WellListProps {
  readonly frame: Frame;
  readonly title: string;
  readonly explanation: string;
  readonly children: ComponentChildren;
}

function WellList({ frame, title, explanation, children }: WellListProps): JSX.Element {
  return (
    <Page {...frame} title={title} section="Coverage">
      <Heading title={title}>
        <a class="button" href="/coverage">
          Map of all wells
        </a>
      </Heading>
      <p class="muted">{explanation}</p>
      <section class="panel">{children}</section>
    </Page>
  );
}

function StalePage(props: {
  readonly frame: Frame;
  readonly wells: readonly StaleWell[];
  readonly warnAfterDays: number;
}): JSX.Element {
  const { frame, wells, warnAfterDays } = props;
  return (
    <WellList
      frame={frame}
      title={wells.length === 0 ? 'No stale well' : counted(wells.length, 'stale well')}
      explanation={`Wells that were read and have no new day for ${warnAfterDays} days or more; plugged wells are left out.`}
    >
      {wells.length === 0 ? (
        <Empty title="No well is silent for so long" />
      ) : (
        <Table
          caption="Stale wells, the latest first"
          columns={[
            { title: 'Well' },
            { title: 'Last day' },
            { title: 'Silent days', isNumber: true },
            { title: 'Quarantined since', isNumber: true },
            { title: 'Unknown to the service since' },
          ]}
          rows={wells.map(({ uwi, lastDay, silentDays, quarantined, unknownSince }) => ({
            key: uwi,
            cells: [
              <WellLink uwi={uwi} />,
              lastDay,
              figure(silentDays),
              quarantined === 0 ? '' : figure(quarantined),
              unknownSince === null ? '' : <Time at={unknownSince} />,
            ],
          }))}
        />
      )}
    </WellList>
  );
}

function UnknownPage({ frame, wells }: { frame: Frame; wells: readonly UnknownWell[] }): JSX.Element {
  return (
    <WellList
      frame={frame}
      title={wells.length === 0 ? 'No unknown well' : counted(wells.length, 'unknown well')}
      explanation="Wells that the service answered with 404 when they were last read. Their rows stay."
    >
      {wells.length === 0 ? (
        <Empty title="The service knows every well that an export named" />
      ) : (
        <Table
          caption="Unknown wells, the latest first"
          columns={[{ title: 'Well' }, { title: 'Unknown since' }, { title: 'Last day' }, { title: 'Run' }]}
          rows={wells.map(({ uwi, since, lastDay, runId }) => ({
            key: uwi,
            cells: [<WellLink uwi={uwi} />, <Time at={since} />, lastDay ?? 'none', <RunLink runId={runId} />],
          }))}
        />
      )}
    </WellList>
  );
}

// The wells of the map as a table, and what of them is shown.

const mapQuery = z.object({
  show: z.enum(mapChoices).default('all'),
  sort: z.enum(mapOrders).default('name'),
  name: z.string().max(1_000).default(''),
});
const pageQuery = mapQuery.extend({
  as: z.enum(['map', 'table']).default('map'),
  page: z.coerce.number().int().min(1).default(1),
});
type MapPageQuery = z.output<typeof pageQuery>;

/** What differs from the first look, with changes: `?show=held&page=2`; the empty text for the first look. */
function queryText(query: MapPageQuery, changes: Partial<MapPageQuery>): string {
  const { show, sort, name, as, page } = { ...query, page: 1, ...changes };
  const members = Object.entries({
    show: show === 'all' ? '' : show,
    sort: sort === 'name' ? '' : sort,
    name,
    as: as === 'map' ? '' : as,
    page: page === 1 ? '' : String(page),
  }).filter(([, value]) => value !== '');
  return members.length === 0 ? '' : `?${new URLSearchParams(members).toString()}`;
}

const choiceWords: Readonly<Record<MapChoice, string>> = {
  all: 'all wells',
  attention: 'needs a look',
  silent: 'silent',
  held: 'with held rows',
  restated: 'restated',
};

const orderWords: Readonly<Record<MapOrder, string>> = {
  name: 'name',
  missing: 'most days without a row',
  silent: 'silent longest',
};

function MapFilter(props: {
  readonly counts: ReturnType<typeof choiceCounts>;
  readonly query: MapPageQuery;
}): JSX.Element {
  const { counts, query } = props;
  const choices = Object.entries(choiceWords) as [MapChoice, string][];
  return (
    <form method="get" action="/coverage" class="row" id="map-filter">
      <Field label="Part of the name">
        <input name="name" type="search" value={query.name} autocomplete="off" />
      </Field>
      <Choice
        label="Wells"
        name="show"
        value={query.show}
        choices={choices.map(([name, words]) => [name, `${words} (${figure(counts[name])})`])}
      />
      <Choice label="By" name="sort" value={query.sort} choices={Object.entries(orderWords)} />
      {query.as === 'table' ? <input type="hidden" name="as" value="table" /> : null}
      <button type="submit">Show</button>
      {query.as === 'table' ? (
        <a class="button" href={`/coverage${queryText(query, { as: 'map' })}`}>
          As a map
        </a>
      ) : (
        <a class="button" href={`/coverage${queryText(query, { as: 'table' })}`}>
          As a table
        </a>
      )}
    </form>
  );
}

const pageWells = 100;

function WellTable({ wells, query }: { readonly wells: readonly MapWell[]; readonly query: MapPageQuery }) {
  if (wells.length === 0) {
    return (
      <Empty title="No well is like that">
        <a href="/coverage">All wells</a>
      </Empty>
    );
  }
  const pages = Math.ceil(wells.length / pageWells);
  const page = Math.min(query.page, pages);
  const from = (page - 1) * pageWells;
  return (
    <>
      <Table
        caption="Wells"
        columns={[
          { title: 'Well' },
          { title: 'Last day' },
          { title: 'Silent days', isNumber: true },
          { title: 'Present', isNumber: true },
          { title: 'Missing', isNumber: true },
          { title: 'Never read', isNumber: true },
          { title: 'Quarantined', isNumber: true },
          { title: 'Also' },
        ]}
        rows={wells.slice(from, from + pageWells).map((well) => ({
          key: well.uwi,
          cells: [
            <WellLink uwi={well.uwi} />,
            well.lastDay ?? 'none',
            ...[well.silentDays, well.present, well.missing, well.neverRead, well.quarantined].map((days) =>
              days === 0 ? '' : figure(days),
            ),
            [
              ...(well.isPartlyRead ? ['read in part'] : []),
              ...(well.isHeld ? ['held rows'] : []),
              ...(well.isRestated ? ['restated'] : []),
            ].join(', '),
          ],
        }))}
      />
      {pages === 1 ? null : (
        <p class="actions">
          {page > 1 ? (
            <a class="button" href={`/coverage${queryText(query, { page: page - 1 })}`}>
              Before
            </a>
          ) : null}
          <span class="muted">
            {figure(from + 1)} to {figure(Math.min(from + pageWells, wells.length))} of {figure(wells.length)}
          </span>
          {page < pages ? (
            <a class="button" href={`/coverage${queryText(query, { page: page + 1 })}`}>
              Next
            </a>
          ) : null}
        </p>
      )}
    </>
  );
}
