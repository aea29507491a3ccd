// The plots of a well: rates, pressures and downtime over the same days, with one cursor. A restated value shows what it
// was before.
// @ts-check

// @ts-expect-error -- served from its package
import uPlot from './uPlot.esm.js';

const section = document.querySelector('#plots');
if (section instanceof HTMLElement) void show(section);

/** @typedef {{ column: string, title: string, group: string }} Column */
/** @typedef {{ day: number, column: string | null, before: number | null, after: number | null, noticedAt: string }} Restated */
/** @typedef {{ days: number[], values: Record<string, (number | null)[]>, restated: Restated[], hasMoreRestated: boolean }} Series */

const daySeconds = 86_400;
// Okabe and Ito: told apart with any colour vision, on paper and on black.
const strokes = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00'];
const dashes = [[], [8, 3], [2, 3], [12, 3, 2, 3], [5, 5]];

/** @param {HTMLElement} part */
async function show(part) {
  const state = /** @type {HTMLElement} */ (part.querySelector('#plot-state'));
  /** @type {Series} */
  let series;
  try {
    const answer = await fetch(part.dataset['series'] ?? '');
    if (!answer.ok) throw new Error(String(answer.status));
    series = withBreaks(await answer.json());
  } catch {
    state.textContent = 'No answer from wellsync: load the page again.';
    return;
  }
  /** @type {Column[]} */
  const columns = JSON.parse(part.dataset['columns'] ?? '[]');
  const plots = [...part.querySelectorAll('.plot')].flatMap((plot) => {
    const group = plot.getAttribute('data-group');
    const shown = columns.filter((each) => each.group === group && series.values[each.column]);
    if (shown.length > 0) return [plotIn(/** @type {HTMLElement} */ (plot), shown, series)];
    plot.remove();
    return [];
  });
  const restated = series.restated.length;
  state.textContent =
    restated === 0 ? 'No value was restated.' : `Rings mark restated values: point at one to see what it was before.`;
  new ResizeObserver(() => {
    for (const plot of plots) plot.setSize({ width: part.clientWidth - 32, height: plot.height });
  }).observe(part);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => location.reload());
}

/**
 * A day without values after each day that no other follows: a line must not run over days that nobody measured.
 * @param {Series} series
 * @returns {Series}
 */
function withBreaks(series) {
  /** @type {number[]} */
  const days = [];
  /** @type {(number | undefined)[]} */
  const sources = [];
  for (const [index, day] of series.days.entries()) {
    const last = series.days[index - 1];
    if (last !== undefined && day > last + 1) {
      days.push(last + 1);
      sources.push(undefined);
    }
    days.push(day);
    sources.push(index);
  }
  const values = Object.fromEntries(
    Object.entries(series.values).map(([column, all]) => [
      column,
      sources.map((index) => (index === undefined ? null : (all[index] ?? null))),
    ]),
  );
  return { ...series, days, values };
}

/** @param {HTMLElement} part @param {Column[]} columns @param {Series} series */
function plotIn(part, columns, series) {
  const [muted, rule, ink] = ['muted', 'rule', 'ink'].map((name) => colourOf(part, name));
  const days = series.days.map((day) => day * daySeconds);
  const restatedOf = new Map(
    columns.map(({ column }) => [
      column,
      new Map(series.restated.filter((each) => each.column === column).map((each) => [each.day, each])),
    ]),
  );
  const isDowntime = columns[0]?.group === 'downtime';
  const line = { stroke: rule, width: 1 };
  const axis = { stroke: muted, grid: line, ticks: line, font: `12px ${getComputedStyle(part).fontFamily}` };
  // Gas is a thousand times oil: each of very different size gets a scale of its own.
  const scales = scalesOf(columns, series);
  const options = {
    width: part.clientWidth,
    height: isDowntime ? 150 : 260,
    tzDate: (/** @type {number} */ seconds) => uPlot.tzDate(new Date(seconds * 1e3), 'Etc/UTC'),
    cursor: { sync: { key: 'well' }, drag: { x: true, y: false }, focus: { prox: 24 } },
    scales: {
      x: { time: true },
      // From zero, so that the zeros of all scales are one line.
      ...Object.fromEntries(scales.map((scale) => [scale, { range: fromZero }])),
    },
    axes: [
      axis,
      ...[...new Set(scales)].map((scale, index) => ({
        ...axis,
        scale,
        side: index === 0 ? 3 : 1,
        size: 64,
        grid: index === 0 ? axis.grid : { show: false },
      })),
    ],
    series: [
      { label: 'Day', value: '{YYYY}-{MM}-{DD}' },
      ...columns.map(({ column, title }, index) => ({
        label: title,
        scale: scales[index],
        stroke: strokes[index],
        width: 1.5,
        dash: dashes[index],
        spanGaps: false,
        points: { show: false },
        ...(isDowntime ? { paths: uPlot.paths.bars({ size: [0.9, 40] }), fill: strokes[index] } : {}),
        value: (
          /** @type {any} */ _plot,
          /** @type {number | null} */ value,
          /** @type {number} */ _series,
          /** @type {number | null} */ at,
        ) => {
          if (value === null || value === undefined) return '–';
          const before =
            at === null || at === undefined ? undefined : restatedOf.get(column)?.get(series.days[at] ?? NaN);
          const text = value.toLocaleString('en-GB', { maximumFractionDigits: 3 });
          return before === undefined
            ? text
            : `${text} (was ${before.before?.toLocaleString('en-GB') ?? 'none'} until ${before.noticedAt})`;
        },
      })),
    ],
    hooks: {
      draw: [
        (/** @type {any} */ plot) => {
          const { ctx } = plot;
          ctx.save();
          ctx.lineWidth = 2 * devicePixelRatio;
          ctx.setLineDash([]);
          ctx.strokeStyle = ink;
          for (const [index, { column }] of columns.entries()) {
            for (const { day, after } of restatedOf.get(column)?.values() ?? []) {
              if (after === null) continue;
              const x = plot.valToPos(day * daySeconds, 'x', true);
              const y = plot.valToPos(after, scales[index], true);
              if (x < plot.bbox.left || x > plot.bbox.left + plot.bbox.width) continue;
              ctx.beginPath();
              ctx.arc(x, y, 6 * devicePixelRatio, 0, 2 * Math.PI);
              ctx.stroke();
            }
          }
          ctx.restore();
        },
      ],
    },
  };
  return new uPlot(options, [days, ...columns.map(({ column }) => series.values[column])], part);
}

/** @param {any} _plot @param {number} least @param {number} most */
function fromZero(_plot, least, most) {
  return [Math.min(0, least ?? 0), (most ?? 1) * 1.05 || 1];
}

/** A scale for each column: those of a like size share one. @param {Column[]} columns @param {Series} series */
function scalesOf(columns, series) {
  const largest = columns.map(({ column }) => {
    let most = 0;
    for (const value of series.values[column] ?? []) most = Math.max(most, Math.abs(value ?? 0));
    return most === 0 ? 1 : most;
  });
  const [first = 1] = largest;
  return largest.map((most) => {
    if (most / first > 20) return 'large';
    return most / first < 1 / 20 ? 'small' : 'y';
  });
}

/** @param {HTMLElement} part @param {string} name */
function colourOf(part, name) {
  const probe = document.createElement('span');
  probe.style.color = `var(--${name})`;
  part.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
