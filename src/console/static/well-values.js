// What is known of each day of a well, for plots, for the reader who points at one, and for a table.
// @ts-check

import { stateWords } from './day-states.js';
import { daySeconds } from './well-plots.js';

/** @typedef {import('./well-plots.js').Well} Well */
/** @typedef {import('./well-plots.js').Plot} Plot */
/** @typedef {[from: number, to: number, state: string]} Stretch */
/**
 * @typedef {{
 *   today: number, days: number[], values: Record<string, (number | null)[]>, codes?: (string | null)[],
 *   stretches: Stretch[], restated: import('./well-plots.js').Restated[], findings: import('./well-plots.js').Finding[]
 * }} Series
 */

const mostTableRows = 400;
export const isGap = (/** @type {string} */ state) => ['missing', 'undecided', 'never-read'].includes(state);
export const dayText = (/** @type {number} */ day) => new Date(day * daySeconds * 1e3).toISOString().slice(0, 10);
export const dayNumber = (/** @type {string} */ text) => Math.round(Date.parse(text) / 1e3 / daySeconds);
const number = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 3 });

/** Every day from the first one to today, one index each: a day without a row has no value, and no line. @param {Series} series @returns {Well} */
function wellOf({ today, days, values, codes, stretches, restated, findings }) {
  const first = stretches[0]?.[0] ?? days[0] ?? today;
  const count = Math.max((stretches.at(-1)?.[1] ?? today) - first, (days.at(-1) ?? first) + 1 - first);
  const spread = (/** @type {any[]} */ all) => {
    const spreadOut = Array.from({ length: count }, () => null);
    for (const [index, day] of days.entries()) spreadOut[day - first] = all[index] ?? null;
    return spreadOut;
  };
  const spreadValues = Object.fromEntries(Object.entries(values).map(([name, all]) => [name, spread(all)]));
  const spreadCodes = codes === undefined ? [] : spread(codes);
  return {
    first,
    days: count,
    seconds: Array.from({ length: count }, (_, index) => (first + index) * daySeconds),
    values: spreadValues,
    codes: spreadCodes,
    gaps: stretches.flatMap(([from, to, state]) => (isGap(state) ? [{ from, to }] : [])),
    down: downtimeOf(first, spreadValues['downtime_hours'] ?? [], spreadCodes),
    restated,
    findings,
  };
}

/** @param {number} first @param {(number | null)[]} hours @param {(string | null)[]} codes */
function downtimeOf(first, hours, codes) {
  /** @type {Well['down']} */
  const found = [];
  for (const [index, each] of hours.entries()) {
    if (each === null || each <= 0) continue;
    const [day, code, last] = [first + index, codes[index] ?? null, found.at(-1)];
    if (last !== undefined && last.to === day && last.hours === each && last.code === code) last.to = day + 1;
    else found.push({ from: day, to: day + 1, hours: each, code });
  }
  return found;
}

/** @template {{ day: number }} Of @param {Of[]} all @returns {Map<number, Of[]>} */
function byDay(all) {
  /** @type {Map<number, Of[]>} */
  const found = new Map();
  for (const each of all) found.set(each.day, [...(found.get(each.day) ?? []), each]);
  return found;
}

export class DayValues {
  /** @param {Series} series @param {Plot[]} plots @param {Record<string, string>} titles */
  constructor(series, plots, titles) {
    this.well = wellOf(series);
    this.stretches = series.stretches;
    this.titles = titles;
    this.columns = [...new Set(plots.flatMap(({ lines }) => lines.map(({ column }) => column)))];
    this.restated = byDay(series.restated);
    this.found = byDay(series.findings);
  }

  /** @param {number} day */
  stateOf(day) {
    return this.stretches.find(([from, to]) => day >= from && day < to)?.[2] ?? 'present';
  }

  /** @param {string} column */
  titleOf(column) {
    return this.titles[column] ?? column.replaceAll('_', ' ');
  }

  /** What is known of a day: name and value; the first is the day itself. @param {number} index @returns {[string, string][]} */
  rowsOf(index) {
    const { first, values, codes } = this.well;
    const day = first + index;
    const state = this.stateOf(day);
    const hours = values['downtime_hours']?.[index] ?? 0;
    const shown = this.columns.map((column) => [this.titleOf(column), valueText(values[column]?.[index]) || '–']);
    const down = hours > 0 ? [['Down', `${number.format(hours)} h${codes[index] ? `, ${codes[index]}` : ''}`]] : [];
    const restated = (this.restated.get(day) ?? []).map(({ column, before }) => [
      `${column === null ? 'Row' : this.titleOf(column)} was`,
      valueText(before) || 'another one',
    ]);
    const found = (this.found.get(day) ?? []).map(({ check, field, value }) => [
      `Check ${check}:`,
      `${this.titleOf(field)} ${valueText(value)}`.trim(),
    ]);
    const head = [`${dayText(day)}, ${stateWords[state] ?? state}`, ''];
    const measured = isGap(state) || state === 'quarantined' ? [] : [...shown, ...down];
    return /** @type {[string, string][]} */ ([head, ...measured, ...restated, ...found]);
  }

  /** The days from `from` to before `to`, the latest first, and how many more there are. @param {[number, number]} days */
  table([from, to]) {
    const { first, values, codes, days } = this.well;
    const hasHours = values['downtime_hours'] !== undefined;
    const heads = ['Day', 'State', ...this.columns.map((column) => this.titleOf(column))];
    if (hasHours) heads.push(this.titleOf('downtime_hours'), 'Code');
    const [begin, end] = [Math.max(0, from - first), Math.min(days, to - first)];
    const table = document.createElement('table');
    table.className = 'cards';
    const head = table.createTHead().insertRow();
    for (const [position, text] of heads.entries()) head.append(cellOf('th', { text, position }));
    for (const cell of head.cells) cell.scope = 'col';
    const body = table.createTBody();
    for (let index = end - 1; index >= Math.max(begin, end - mostTableRows); index -= 1) {
      const state = this.stateOf(first + index);
      const measured = this.columns.map((column) => valueText(values[column]?.[index]));
      const cells = [dayText(first + index), stateWords[state] ?? state, ...measured];
      if (hasHours) cells.push(valueText(values['downtime_hours']?.[index]), codes[index] ?? '');
      const row = body.insertRow();
      for (const [position, text] of cells.entries()) {
        row.append(cellOf(position === 0 ? 'th' : 'td', { text, position, title: heads[position] }));
      }
    }
    const remark = document.createElement('p');
    remark.className = 'muted small';
    const more = end - begin - mostTableRows;
    remark.textContent = more > 0 ? `and ${number.format(more)} more days, which the CSV has` : '';
    return [table, remark];
  }
}

/** @param {number | null | undefined} value */
function valueText(value) {
  return value === null || value === undefined ? '' : number.format(value);
}

/** @param {'th' | 'td'} name @param {{ text: string, position: number, title?: string | undefined }} given */
function cellOf(name, { text, position, title }) {
  const cell = document.createElement(name);
  cell.textContent = text;
  if (position > 1) cell.className = 'number';
  if (title !== undefined) cell.dataset['title'] = title;
  if (title !== undefined && position === 0) cell.scope = 'row';
  return cell;
}

/** The day, and a list of the rest. @param {[string, string][]} rows */
export function tipOf([head, ...rows]) {
  const title = document.createElement('strong');
  title.textContent = head?.[0] ?? '';
  const list = document.createElement('dl');
  for (const [name, text] of rows) {
    const [term, value] = [document.createElement('dt'), document.createElement('dd')];
    term.textContent = name;
    value.textContent = text;
    list.append(term, value);
  }
  return [title, list];
}
