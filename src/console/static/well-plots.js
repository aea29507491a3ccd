// One plot of a well: lines of one unit on one axis with one zero, the downtime behind them, and marks above them.
// @ts-check

// @ts-expect-error -- served from its package
import uPlot from './uPlot.esm.js';
import { coloursOf, diamond } from './day-states.js';

/** @typedef {{ title: string, unit: string, lines: { column: string, title: string }[], hasDowntime: boolean, mayBeLog: boolean }} Plot */
/** @typedef {{ day: number, column: string | null, before: number | null, after: number | null, noticedAt: string }} Restated */
/** @typedef {{ day: number, check: string, field: string, value: number | null, expected: number | null }} Finding */
/**
 * Every day from the first one to today, one index each.
 * @typedef {{
 *   first: number, days: number, seconds: number[], values: Record<string, (number | null)[]>, codes: (string | null)[],
 *   gaps: { from: number, to: number }[], down: { from: number, to: number, hours: number, code: string | null }[],
 *   restated: Restated[], findings: Finding[]
 * }} Well
 */

export const daySeconds = 86_400;
const dayHours = 24;
/** One left edge and one right edge for all plots: one cursor means one day. */
export const [axisWidth, rightSpace] = [68, 12];

// Dashes tell lines apart where colour does not.
const dashes = /** @type {Record<string, number[]>} */ ({
  oil_rate: [],
  water_rate: [7, 3],
  liquid_rate: [2, 3],
  casing_pressure: [7, 3],
  gauge_pressure: [2, 3],
  line_pressure: [10, 3, 2, 3],
});

const lineColumns = [
  'oil_rate',
  'water_rate',
  'liquid_rate',
  'gas_rate',
  'water_injection_rate',
  'gas_injection_rate',
  'gas_lift_injection_rate',
  'tubing_pressure',
  'casing_pressure',
  'gauge_pressure',
  'line_pressure',
  'water_cut',
  'gas_oil_ratio',
];
const names = ['muted', 'rule', 'ink', 'surface', 'missing', 'downtime', 'mark-restated', 'mark-check'];

/** @param {HTMLElement} part */
export function plotColours(part) {
  const lines = coloursOf(
    part,
    lineColumns.map((column) => `line-${column.replaceAll('_', '-')}`),
  );
  const byColumn = lineColumns.map((column) => [column, lines[`line-${column.replaceAll('_', '-')}`] ?? '']);
  return { ...coloursOf(part, names), .../** @type {Record<string, string>} */ (Object.fromEntries(byColumn)) };
}

/**
 * @param {HTMLElement} part
 * @param {Plot} plot
 * @param {{
 *   well: Well, isLog: boolean, isFirst: boolean, colours: Record<string, string>,
 *   range: [number, number], onDay: (index: number | null | undefined, plot: any) => void,
 *   onZoom: (from: number, to: number) => void, onAll: () => void
 * }} given
 */
export function plotIn(part, plot, { well, isLog, isFirst, colours, range, onDay, onZoom, onAll }) {
  const { lines } = plot;
  const log = isLog && plot.mayBeLog;
  const [least, most] = range;
  const rule = { stroke: colours['rule'], width: 1 };
  const axis = {
    stroke: colours['muted'],
    grid: rule,
    ticks: rule,
    font: `12px ${getComputedStyle(part).fontFamily}`,
  };
  const marks = marksOf(plot, well, isFirst);
  const options = {
    width: part.clientWidth,
    height: part.clientHeight,
    padding: [10, rightSpace, 0, 0],
    legend: { show: false },
    tzDate: (/** @type {number} */ seconds) => uPlot.tzDate(new Date(seconds * 1e3), 'Etc/UTC'),
    cursor: {
      sync: { key: 'well', setSeries: false },
      drag: { x: true, y: false, setScale: false },
      points: { size: 6 },
      bind: { dblclick: () => onAll },
    },
    scales: {
      x: {
        time: true,
        min: least,
        max: most,
        range: (/** @type {any} */ _u, /** @type {number} */ a, /** @type {number} */ b) => [a, b],
      },
      y: log ? { distr: 3, range: decades } : { range: plot.unit === '%' ? () => [0, 100] : fromZero },
    },
    axes: [
      { ...axis, size: 28, space: 84, values: isoDates },
      { ...axis, size: axisWidth, values: figures },
    ],
    series: [
      {},
      ...lines.map(({ column }) => ({
        stroke: colours[column],
        width: 1.5,
        dash: dashes[column] ?? [],
        spanGaps: false,
        points: { show: false, size: 4, filter: lonelyDays, fill: colours[column] },
      })),
    ],
    hooks: {
      drawClear: [(/** @type {any} */ u) => drawBehind(u, plot, well, colours)],
      draw: [(/** @type {any} */ u) => drawMarks(u, { lines, marks, well, log, colours })],
      setCursor: [(/** @type {any} */ u) => onDay(u.cursor.idx, u)],
      setSelect: [
        (/** @type {any} */ u) => {
          const { left, width } = u.select;
          if (width < 3) return;
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          onZoom(u.posToVal(left, 'x'), u.posToVal(left + width, 'x'));
        },
      ],
    },
  };
  const columns = lines.map(({ column }) => well.values[column] ?? well.seconds.map(() => null));
  return new uPlot(options, [well.seconds, ...columns], part);
}

/** Zero is on the axis; a value below it is drawn, and no other line moves for it. @param {any} _u @param {number} least @param {number} most */
function fromZero(_u, least, most) {
  const [low, high] = [Math.min(0, least ?? 0), Math.max(0, most ?? 0)];
  const span = high - low || 1;
  // Room for the marks.
  return [low < 0 ? low - span * 0.05 : 0, high + span * 0.14];
}

/** Whole decades, at most six. @param {any} _u @param {number | null} least @param {number | null} most */
function decades(_u, least, most) {
  const high = most !== null && most > 0 ? Math.ceil(Math.log10(most) + 0.05) : 1;
  const low = least !== null && least > 0 ? Math.floor(Math.log10(least)) : high - 1;
  return [10 ** Math.max(low, high - 6), 10 ** Math.max(high, low + 1)];
}

/** @param {any} _u @param {number[]} splits @param {number} _axis @param {number} _space @param {number} step */
function isoDates(_u, splits, _axis, _space, step) {
  const length = step >= 360 * daySeconds ? 4 : step >= 28 * daySeconds ? 7 : 10;
  let last = '';
  return splits.map((seconds) => {
    const text = new Date(seconds * 1e3).toISOString().slice(0, length);
    // Steps below a day would name a day twice.
    if (text === last) return '';
    last = text;
    return text;
  });
}

/** Of a log scale, those between decades are null. @param {any} _u @param {(number | null)[]} splits */
function figures(_u, splits) {
  return splits.map((value) => {
    if (value === null) return '';
    const isLong = Math.abs(value) >= 1e6;
    return value.toLocaleString('en-GB', isLong ? { notation: 'compact' } : { maximumFractionDigits: 4 });
  });
}

/** A day between two without a value has no line: it gets a point. @param {any} u @param {number} series */
function lonelyDays(u, series) {
  const values = u.data[series];
  const [from, to] = u.series[0].idxs;
  const found = [];
  for (let index = from; index <= to; index += 1) {
    if (values[index] !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null)
      found.push(index);
  }
  return found;
}

/** Downtime as high as its hours of the day, and days without a row. @param {any} u @param {Plot} plot @param {Well} well @param {Record<string, string>} colours */
function drawBehind(u, plot, well, colours) {
  const { ctx, bbox } = u;
  const xOf = (/** @type {number} */ day) =>
    Math.min(bbox.left + bbox.width, Math.max(bbox.left, u.valToPos((day - 0.5) * daySeconds, 'x', true)));
  ctx.save();
  ctx.globalAlpha = 0.16;
  ctx.fillStyle = colours['missing'];
  for (const { from, to } of well.gaps) {
    const left = xOf(from);
    if (xOf(to) > left) ctx.fillRect(left, bbox.top, xOf(to) - left, bbox.height);
  }
  if (plot.hasDowntime) {
    ctx.fillStyle = colours['downtime'];
    ctx.font = `${10 * devicePixelRatio}px ${getComputedStyle(u.root).fontFamily}`;
    ctx.textBaseline = 'bottom';
    for (const { from, to, hours, code } of well.down) {
      const [left, right] = [xOf(from), xOf(to)];
      if (right <= left) continue;
      const height = (Math.min(hours, dayHours) / dayHours) * bbox.height;
      ctx.globalAlpha = 0.32;
      ctx.fillRect(left, bbox.top + bbox.height - height, right - left, height);
      if (code === null || ctx.measureText(code).width + 8 > right - left) continue;
      ctx.globalAlpha = 1;
      ctx.fillStyle = colours['ink'];
      ctx.fillText(code, left + 4, bbox.top + bbox.height - 3);
      ctx.fillStyle = colours['downtime'];
    }
  }
  ctx.restore();
}

/** @param {Plot} plot @param {Well} well @param {boolean} isFirst */
function marksOf({ lines }, { restated, findings, values }, isFirst) {
  const own = new Set(lines.map(({ column }) => column));
  const isHere = (/** @type {string | null} */ column) =>
    column !== null && values[column] !== undefined ? own.has(column) : isFirst;
  const days = (/** @type {{ day: number }[]} */ all) =>
    [...new Set(all.map(({ day }) => day))].toSorted((a, b) => a - b);
  return {
    restated: days(restated.filter(({ column }) => isHere(column))),
    checks: days(findings.filter(({ field }) => isHere(field))),
  };
}

/**
 * Restatements and findings above the lines, and values below zero at their place.
 * @param {any} u
 * @param {{ lines: Plot['lines'], marks: { restated: number[], checks: number[] }, well: Well, log: boolean, colours: Record<string, string> }} given
 */
function drawMarks(u, { lines, marks, well, log, colours }) {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
  ctx.clip();
  drawRow(u, marks.restated, bbox.top + 5 * ratio, colours['mark-restated'] ?? '', 'diamond');
  drawRow(u, marks.checks, bbox.top + 15 * ratio, colours['mark-check'] ?? '', 'triangle');
  if (!log && u.scales.y.min < 0) {
    ctx.fillStyle = colours['ink'];
    const zero = u.valToPos(0, 'y', true);
    ctx.fillRect(bbox.left, zero - ratio / 2, bbox.width, ratio);
    const [from, to] = u.series[0].idxs;
    for (const { column } of lines) {
      const values = well.values[column] ?? [];
      ctx.fillStyle = colours[column];
      let last = -Infinity;
      for (let index = from; index <= to; index += 1) {
        const value = values[index] ?? 0;
        if (value >= 0) continue;
        const x = u.valToPos(well.seconds[index] ?? 0, 'x', true);
        // Those that would lie on each other are one.
        if (x - last < 5 * ratio) continue;
        last = x;
        triangle(ctx, x, u.valToPos(value, 'y', true), 4 * ratio, -1);
      }
    }
  }
  ctx.restore();
}

/** Marks that would lie on each other become a bar from the first to the last. @param {any} u @param {number[]} days @param {number} y @param {string} colour @param {'diamond' | 'triangle'} shape */
function drawRow(u, days, y, colour, shape) {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  /** @type {{ from: number, to: number }[]} */
  const groups = [];
  for (const day of days) {
    const x = u.valToPos(day * daySeconds, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    const last = groups.at(-1);
    if (last !== undefined && x - last.to < 9 * ratio) last.to = x;
    else groups.push({ from: x, to: x });
  }
  ctx.fillStyle = colour;
  for (const { from, to } of groups) {
    const middle = (from + to) / 2;
    ctx.fillRect(from, y - ratio, to - from, 2 * ratio);
    if (shape === 'diamond') diamond(ctx, middle, y, 4 * ratio);
    else triangle(ctx, middle, y, 4.5 * ratio, 1);
  }
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} size @param {1 | -1} up */
function triangle(context, x, y, size, up) {
  context.beginPath();
  context.moveTo(x, y - size * up);
  context.lineTo(x + size, y + size * 0.8 * up);
  context.lineTo(x - size, y + size * 0.8 * up);
  context.closePath();
  context.fill();
}
