/** One well: why it has no data or what else is first to be known of it, its days, its plots, and what is known of them. */
import type { JSX } from 'preact';
import { z } from 'zod';
import { nearestWells } from '../../app/runs/search.ts';
import { type AlertDocument, type AlertGroup, groupsOf, listAlerts } from '../../app/alerts/alerts.ts';
import { type CheckSummary, listFindings } from '../../app/wells/checks.ts';
import { type Plot, plotsOf, titlesOf, unitsOfWell } from '../../app/wells/well-plots.ts';
import { seriesCsv, wellSeriesOf } from '../../app/wells/well-series.ts';
import { isKnown, type WellDocument, wellDocument } from '../../app/wells/well.ts';
import { counted, printable } from '../../core/base/text.ts';
import { RequestProblem } from '../problem.ts';
import { ActionForm, Field, mayAct, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Facts, Heading, Name, Panel } from './parts.tsx';
import type { Pages } from './routes.tsx';
import { AlertsOfWell, Gaps, Quarantined, Reads, recordsText, Restated, type Titles } from './well-panels.tsx';
import { Standings } from './well-standing.tsx';

const day = z.iso.date().optional();
const wellQuery = z.object({
  /** The days of the backfill form, `to` exclusive. */
  from: day,
  to: day,
  month: z
    .string()
    .regex(/^\d{4}-\d{2}$/)
    .optional(),
  /** What the plots show: for their script. */
  show: z.string().max(40).optional(),
  scale: z.enum(['linear', 'log']).optional(),
});

const mostAlerts = 100;

export function addWellPages(pages: Pages): void {
  const { app } = pages.context;
  const params = z.object({
    uwi: z
      .string()
      .max(1_000)
      .regex(/^[^\0]*$/, 'holds a NUL'),
  });
  pages.add({
    url: '/wells/:uwi',
    params,
    query: wellQuery,
    page: async ({ frame, reader, caller, nowMs }, { params: { uwi }, query }) => {
      const { value } = await reader.read(['well page', uwi], async () => ({
        well: await wellDocument(app, uwi, nowMs),
        alerts: await alertsOf(uwi, nowMs),
        checks: await listFindings(app, { uwis: [uwi] }),
      }));
      const { well } = value;
      if (!isKnown(well)) {
        const { value: nearWells } = await reader.read(['near', uwi], () => nearestWells(app, uwi));
        throw new RequestProblem(404, 'no-such-well', `no well ${uwi} was ever read`, { nearWells });
      }
      const units = unitsOfWell(app.config);
      const drawn = { plots: plotsOf(value.well.columns, units), titles: titlesOf(units) };
      return <WellPage frame={frame} {...value} {...drawn} proposed={proposedOf(query)} reader={caller} />;
    },
  });
  const alertsOf = async (uwi: string, nowMs: number): Promise<readonly AlertDocument[]> => {
    const filter = { target: uwi, states: ['open', 'acknowledged'], limit: mostAlerts, nowMs } as const;
    return (await listAlerts(app, filter)).alerts;
  };
  const seriesOf = async (uwi: string) =>
    (await pages.context.reader.read(['series', uwi], () => wellSeriesOf(app, uwi, Date.now()))).value;
  pages.server.route({
    method: 'GET',
    url: '/wells/:uwi/series',
    config: { access: 'read' },
    schema: { hide: true, params },
    handler: async ({ params: { uwi } }) => seriesOf(uwi),
  });
  pages.server.route({
    method: 'GET',
    url: '/wells/:uwi/series.csv',
    config: { access: 'read' },
    schema: { hide: true, params, querystring: z.object({ from: day, to: day }) },
    handler: async ({ params: { uwi }, query }, reply) =>
      reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="${fileNameOf(uwi, query)}"`)
        .send(seriesCsv(app, await seriesOf(uwi), query)),
  });
}

/** Letters, digits and a few marks alone: it is a name of a file on any system. */
function fileNameOf(uwi: string, { from, to }: z.output<typeof wellQuery>): string {
  const days = [from, to].flatMap((each) => each ?? []).join('_');
  const name = uwi.replaceAll(/[^\w.-]+/g, '-').slice(0, 80);
  return [name === '' ? 'well' : name, days].filter((part) => part !== '').join('_') + '.csv';
}

interface Proposed {
  readonly from: string;
  readonly to: string;
}

function proposedOf({ from, to, month }: z.output<typeof wellQuery>): Proposed | undefined {
  if (from !== undefined && to !== undefined) return { from, to };
  if (month === undefined) return undefined;
  const [year = 0, number = 1] = month.split('-').map(Number);
  return { from: `${month}-01`, to: new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 10) };
}

interface WellProps {
  readonly frame: Frame;
  readonly well: WellDocument;
  /** Those that are not resolved. */
  readonly alerts: readonly AlertDocument[];
  readonly checks: readonly CheckSummary[];
  readonly plots: readonly Plot[];
  /** Of columns, with their units. */
  readonly titles: Titles;
  /** The days that a backfill is proposed for, YYYY-MM-DD, `to` exclusive. */
  readonly proposed: Proposed | undefined;
  readonly reader: Reader;
}

/** What well.js imports. */
const plotModules = ['day-states.js', 'well-plots.js', 'well-values.js', 'uPlot.esm.js'];

function wellPath(uwi: string): string {
  return `/wells/${encodeURIComponent(uwi)}`;
}

function WellPage({ frame, well, alerts, checks, plots, titles, proposed, reader }: WellProps): JSX.Element {
  const { uwi, firstDay } = well;
  const groups: readonly AlertGroup[] = groupsOf(alerts);
  return (
    <Page
      {...frame}
      title={printable(uwi)}
      section="Coverage"
      scripts={['well.js']}
      styles={['uPlot.min.css']}
      {...(firstDay === null ? {} : { ahead: { modules: plotModules, data: `${wellPath(uwi)}/series` } })}
    >
      <Heading title={<Name>{uwi}</Name>}>
        <a class="button" href="/coverage" data-back="map">
          Map of all wells
        </a>
      </Heading>
      <Standings well={well} reader={reader} />
      {firstDay === null ? (
        <section class="panel" id="days">
          <Empty title="The warehouse has no row of this well" />
          <Backfill uwi={uwi} proposed={proposed} reader={reader} />
        </section>
      ) : (
        <Plots well={well} plots={plots} titles={titles} proposed={proposed} reader={reader} />
      )}
      <div class="columns">
        {well.gaps.length === 0 ? null : <Gaps well={well} />}
        <Panel title="What is known">
          <Facts facts={factsOf(well)} />
        </Panel>
      </div>
      <AlertsOfWell groups={groups} checks={checks} titles={titles} />
      <Quarantined well={well} />
      <Reads reads={well.reads} />
      <Restated restated={well.restated} titles={titles} />
    </Page>
  );
}

const ranges = [
  ['30d', '30 days'],
  ['1y', '1 year'],
  ['all', 'All'],
] as const;

/** The days, drawn by the script: their heights are reserved, so that nothing moves when they come. */
function Plots({ well, plots, titles, proposed, reader }: Omit<WellProps, 'frame' | 'alerts' | 'checks'>) {
  const { uwi, firstDay, lastDay } = well;
  const path = wellPath(uwi);
  return (
    <section
      class="panel"
      id="days"
      data-series={`${path}/series`}
      data-plots={JSON.stringify(plots)}
      data-titles={JSON.stringify(titles)}
    >
      <div class="panel-head">
        <h2>
          {firstDay} to {lastDay}
        </h2>
        <div class="actions plot-ranges" role="group" aria-label="Days that the plots show">
          {ranges.map(([name, text]) => (
            <a key={name} class="button" href={`${path}?show=${name}`} data-show={name}>
              {text}
            </a>
          ))}
          <a class="button" href={`${path}?scale=log`} data-scale="log">
            Log scale
          </a>
          <a class="button" href={`${path}/series.csv`} data-csv={`${path}/series.csv`} download>
            CSV
          </a>
        </div>
      </div>
      <Backfill uwi={uwi} proposed={proposed} reader={reader} />
      <div
        class="well-plots"
        id="plots"
        tabIndex={0}
        role="application"
        aria-label={`Plots of ${printable(uwi)} by day: the arrow keys move by day, Page up and Page down by 30 days; plus and minus zoom, 0 shows all`}
        aria-describedby="plot-values"
      >
        <canvas class="day-strip" />
        {plots.map((plot) => (
          <PlotFigure key={plot.caption} plot={plot} />
        ))}
      </div>
      <div class="legend plot-legend">
        <span>
          <i class="downtime" /> downtime, as high as its hours of 24
        </span>
        <span>
          <i class="gap" /> days without a row
        </span>
        <span>
          <svg viewBox="0 0 10 10" aria-hidden="true">
            <path class="restated-mark" d="M5 0l5 5-5 5-5-5z" />
          </svg>
          restated
        </span>
        <span>
          <svg viewBox="0 0 10 10" aria-hidden="true">
            <path class="check-mark" d="M5 0l5 9h-10z" />
          </svg>
          found by a check
        </span>
      </div>
      <p id="plot-values" class="small" role="status">
        Drag to zoom. Point at a day, or use the arrow keys, to read its values.
      </p>
      <noscript>
        <p class="note idle">
          The plots need JavaScript. Their values are in the <a href={`${path}/series.csv`}>CSV</a>.
        </p>
      </noscript>
      <details id="plot-table">
        <summary>Table of the days shown</summary>
        <div class="scroll" />
      </details>
    </section>
  );
}

function PlotFigure({ plot: { caption, lines, mayBeLog } }: { readonly plot: Plot }): JSX.Element {
  return (
    <figure class={`well-plot ${mayBeLog || lines.length > 1 ? 'tall' : 'short'}`} data-plot={caption}>
      <figcaption class="legend">
        <strong>{caption}</strong>
        {lines.length < 2
          ? null
          : lines.map((line) => (
              <span key={line.column}>
                <svg class={`line ${line.column}`} viewBox="0 0 24 8" aria-hidden="true">
                  <path d="M0 4h24" />
                </svg>
                {line.title}
              </span>
            ))}
      </figcaption>
      <div class="plot" />
    </figure>
  );
}

interface BackfillProps {
  readonly uwi: string;
  readonly proposed: Proposed | undefined;
  readonly reader: Reader;
}

/** A click on a gap fills it. */
function Backfill({ uwi, proposed, reader }: BackfillProps): JSX.Element | null {
  if (!mayAct(reader)) return null;
  return (
    <div id="backfill">
      <ActionForm asks="POST /api/v1/runs" reader={reader} body={{ export: 'daily-production', uwis: [uwi] }}>
        <Field label="Read again: first day">
          <input type="date" name="from" required value={proposed?.from} />
        </Field>
        <Field label="Last day">
          <input type="date" name="to" data-type="last-day" required value={proposed && lastDayBefore(proposed.to)} />
        </Field>
        <button type="submit" class={proposed === undefined ? undefined : 'first'}>
          Backfill
        </button>
      </ActionForm>
    </div>
  );
}

function lastDayBefore(to: string): string {
  return new Date(Date.parse(to) - 86_400_000).toISOString().slice(0, 10);
}

function factsOf({ days, readTo, gaps, firstDay, lastDay, quarantinedRecords, acceptedRecords }: WellDocument) {
  const inGaps = gaps.reduce((sum, gap) => sum + gap.days, 0);
  return [
    ['Days', firstDay === null ? 'none' : `${firstDay} to ${lastDay ?? firstDay}`],
    ['Read to', readTo ?? 'never read'],
    ['Present', counted(days.present, 'day')],
    [
      'Quarantined',
      `${counted(days.quarantined, 'day')}${quarantinedRecords > 0 ? ` (${recordsText(quarantinedRecords, acceptedRecords)})` : ''}`,
    ],
    ['Without a row', `${counted(inGaps, 'day')} in ${counted(gaps.length, 'gap')}`],
    ...(days.missing > 0 ? [['of them missing at the service', counted(days.missing, 'day')] as const] : []),
    ...(days.undecided > 0 ? [['of them not verified yet', counted(days.undecided, 'day')] as const] : []),
    ...(days.neverRead > 0 ? [['of them never read', counted(days.neverRead, 'day')] as const] : []),
  ] as const;
}
