/** How complete the warehouse is: a map of all wells by month, and the lists of wells that need a look. */
import type { ComponentChildren, JSX } from 'preact';
import { z } from 'zod';
import { coverageBlockOf, type CoverageMap, coverageMapOf } from '../../app/wells/coverage-map.ts';
import { type StaleWell, staleWells, type UnknownWell, unknownWells } from '../../app/wells/coverage.ts';
import { counted, figure } from '../../core/base/text.ts';
import { ActionButton, Field, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Figures, Heading, Name, RunLink, Table, Time } from './parts.tsx';
import type { Pages } from './routes.tsx';

/** How long the wells of a map are those of its blocks. */
const mapMs = 300_000;

export function addCoveragePages(pages: Pages): void {
  const { app, reader } = pages.context;
  /** Its blocks are those of these wells, in this order. */
  let lastMap: { readonly atMs: number; readonly map: CoverageMap } | undefined;
  const readMap = async (nowMs: number): Promise<CoverageMap> => {
    const { value: map } = await reader.read('coverage', () => coverageMapOf(app, nowMs));
    lastMap = { atMs: nowMs, map };
    return map;
  };
  pages.add({
    url: '/coverage',
    page: async ({ frame, caller, nowMs }) => {
      const value = await readMap(nowMs);
      return <CoveragePage frame={frame} map={value} reader={caller} />;
    },
  });
  pages.server.route({
    method: 'GET',
    url: '/coverage/block',
    config: { access: 'read' },
    schema: { hide: true, querystring: z.object({ from: z.coerce.number().int().min(0) }) },
    handler: async ({ query: { from } }) => {
      const nowMs = Date.now();
      const { atMs, map } = lastMap ?? { atMs: -Infinity, map: undefined };
      const { uwis: all } = map === undefined || nowMs - atMs > mapMs ? await readMap(nowMs) : map;
      const question = { all, from, nowMs };
      return (await reader.read(`coverage from ${from}`, () => coverageBlockOf(app, question))).value;
    },
  });
  pages.add({
    url: '/coverage/stale',
    page: async ({ frame, nowMs }) => {
      const { value } = await reader.read('stale', () => staleWells(app, { nowMs }));
      return <StalePage frame={frame} wells={value} warnAfterDays={app.config.freshness.warnAfterDays} />;
    },
  });
  pages.add({
    url: '/coverage/unknown',
    page: async ({ frame }) => {
      const { value } = await reader.read('unknown', () => unknownWells(app, {}));
      return <UnknownPage frame={frame} wells={value} />;
    },
  });
}

interface CoverageProps {
  readonly frame: Frame;
  readonly map: CoverageMap;
  readonly reader: Reader;
}

function CoveragePage({ frame, map, reader }: CoverageProps): JSX.Element {
  const { uwis, wellsWithHoles, days, firstMonth, lastMonth } = map;
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
  return (
    <Page {...frame} title="Coverage" section="Coverage" scripts={['coverage.js']}>
      <Heading title={headline(map, asked)}>
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
            { name: 'missing in a read', value: days.missing, remark: shareText(days.missing, asked) },
            { name: 'quarantined', value: days.quarantined, remark: shareText(days.quarantined, asked) },
            { name: 'never read', value: days.neverRead, remark: shareText(days.neverRead, asked) },
          ]}
        />
      </section>
      <section class="panel">
        <div class="panel-head">
          <h2>Wells by month</h2>
          <Legend />
        </div>
        <form method="get" action="/coverage/well" class="row">
          <Field label="Go to a well">
            <input name="uwi" placeholder="uwi" required autocomplete="off" />
          </Field>
          <button type="submit">Open</button>
        </form>
        <div
          class="map"
          id="map"
          tabIndex={0}
          role="application"
          aria-label="Map of coverage: arrows move by month and well, Enter opens the well"
          aria-describedby="cell"
          data-wells={uwis.length}
          data-first={firstMonth.slice(0, 7)}
          data-last={lastMonth.slice(0, 7)}
        >
          <canvas />
          <div class="extent" />
        </div>
        <p id="cell" class="small muted" role="status">
          Point at a month, or use the arrow keys, to see its days.
        </p>
      </section>
    </Page>
  );
}

function headline({ uwis, wellsWithHoles }: CoverageMap, asked: number): string {
  const wells = uwis.length;
  if (wellsWithHoles === 0) return `${counted(wells, 'well')}, ${counted(asked, 'day')}, no gap`;
  return `${figure(wellsWithHoles)} of ${counted(wells, 'well')} ${wellsWithHoles === 1 ? 'has' : 'have'} days that need a look`;
}

function shareText(days: number, asked: number): string {
  if (asked === 0) return '';
  const share = (100 * days) / asked;
  return days > 0 && share < 0.1 ? 'less than 0.1 %' : `${share.toFixed(1)} %`;
}

/** The probes of the script for the colours of the map as well. */
function Legend(): JSX.Element {
  return (
    <div class="legend" id="legend">
      <span>
        <i class="present" /> present
      </span>
      <span>
        <i class="missing" /> missing in a read
      </span>
      <span>
        <i class="quarantined" /> quarantined
      </span>
      <span>
        <i class="never-read" /> never read
      </span>
    </div>
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

function WellLink({ uwi }: { readonly uwi: string }): JSX.Element {
  return (
    <a href={`/wells/${encodeURIComponent(uwi)}`}>
      <Name>{uwi}</Name>
    </a>
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
