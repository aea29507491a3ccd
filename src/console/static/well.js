// The days of a well: plots with one cursor, what they show in the address, the values of a day, and a table of them.
// @ts-check

import { coloursOf, fillState, stateColours } from './day-states.js';
import { axisWidth, daySeconds, plotColours, plotIn, rightSpace } from './well-plots.js';
import { DayValues, dayNumber, dayText, isGap, tipOf } from './well-values.js';

/** @typedef {import('./well-values.js').Series} Series */
/** @typedef {import('./well-values.js').Stretch} Stretch */
/** @typedef {import('./well-plots.js').Plot} Plot */

// The way back to the map leads to where one was on it.
const back = document.querySelector('[data-back]');
const place = sessionStorage.getItem('map-place');
if (back instanceof HTMLAnchorElement && place !== null) back.href += JSON.parse(place).query;

const section = document.querySelector('#days[data-series]');
if (section instanceof HTMLElement) void show(section);

/** @param {HTMLElement} part */
async function show(part) {
  const answer = await fetch(part.dataset['series'] ?? '').catch(() => undefined);
  const series = answer?.ok ? await answer.json().catch(() => undefined) : undefined;
  if (series !== undefined) return new WellDays(part, series).begin();
  const state = part.querySelector('#plot-values');
  if (state !== null) state.textContent = 'No answer from wellsync: load the page again.';
}

class WellDays {
  /** @param {HTMLElement} part @param {Series} series */
  constructor(part, series) {
    this.part = part;
    this.box = /** @type {HTMLElement} */ (part.querySelector('#plots'));
    this.strip = /** @type {HTMLCanvasElement} */ (part.querySelector('.day-strip'));
    this.valuesText = /** @type {HTMLElement} */ (part.querySelector('#plot-values'));
    this.table = /** @type {HTMLDetailsElement} */ (part.querySelector('#plot-table'));
    this.stretches = series.stretches;
    /** @type {Plot[]} */
    this.plots = JSON.parse(part.dataset['plots'] ?? '[]');
    this.days = new DayValues(series, this.plots, JSON.parse(part.dataset['titles'] ?? '{}'));
    this.well = this.days.well;
    this.tip = document.createElement('div');
    this.tip.className = 'plot-tip';
    this.tip.hidden = true;
    this.box.append(this.tip);
    /** @type {any[]} */
    this.drawn = [];
    /** @type {number | undefined} */
    this.index = undefined;
    const { first, days } = this.well;
    this.whole = /** @type {[number, number]} */ ([first, first + days]);
  }

  begin() {
    const { searchParams } = new URL(location.href);
    this.isLog = searchParams.get('scale') === 'log';
    this.showName = searchParams.get('show') ?? '';
    this.view = this.viewOf(searchParams);
    this.draw();
    this.told();
    this.listen();
  }

  /** @param {URLSearchParams} asked @returns {[number, number]} */
  viewOf(asked) {
    const name = asked.get('show') ?? '';
    const [, end] = this.whole;
    if (name === '30d') return this.within(end - 30, end);
    if (name === '1y') return this.within(end - 365, end);
    const [, from, last] = /^(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)$/.exec(name) ?? [];
    if (from !== undefined && last !== undefined) {
      return from === last
        ? this.around(dayNumber(from), dayNumber(from) + 1)
        : this.within(dayNumber(from), dayNumber(last) + 1);
    }
    const inputs = this.inputs();
    if (name === '' && inputs?.from.defaultValue) {
      return this.around(dayNumber(inputs.from.defaultValue), dayNumber(inputs.to.defaultValue));
    }
    return this.whole;
  }

  /** At least a week. @param {number} from @param {number} to @returns {[number, number]} */
  within(from, to) {
    const [first, end] = this.whole;
    const middle = (from + to) / 2;
    const half = Math.max(3.5, (to - from) / 2);
    return [Math.max(first - 3, Math.floor(middle - half)), Math.min(end + 3, Math.ceil(middle + half))];
  }

  /** Days with what is beside them. @param {number} from @param {number} to */
  around(from, to) {
    const beside = Math.max(10, Math.round((to - from) / 2));
    return this.within(from - beside, to + beside);
  }

  inputs() {
    const [from, to] = ['from', 'to'].map((name) => this.part.querySelector(`#backfill input[name=${name}]`));
    return from instanceof HTMLInputElement && to instanceof HTMLInputElement ? { from, to } : undefined;
  }

  draw() {
    for (const each of this.drawn) each.destroy();
    const colours = plotColours(this.box);
    const figures = /** @type {HTMLElement[]} */ ([...this.box.querySelectorAll('.well-plot .plot')]);
    this.drawn = this.plots.map((plot, index) =>
      plotIn(/** @type {HTMLElement} */ (figures[index]), plot, {
        well: this.well,
        isLog: this.isLog === true,
        isFirst: index === 0,
        colours,
        range: this.seconds(),
        onDay: (at, u) => this.onDay(at, u),
        onZoom: (from, to) => this.zoom([Math.round(from / daySeconds), Math.round(to / daySeconds) + 1]),
        onAll: () => this.zoom(this.whole, 'all'),
      }),
    );
    this.drawStrip();
  }

  /** @returns {[number, number]} */
  seconds() {
    const [from, to] = this.view ?? this.whole;
    return [(from - 0.5) * daySeconds, (to - 0.5) * daySeconds];
  }

  /** @param {[number, number]} view @param {string} [name] */
  zoom(view, name) {
    this.view = name === 'all' ? view : this.within(...view);
    this.showName = name ?? `${dayText(this.view[0])}..${dayText(this.view[1] - 1)}`;
    const [min, max] = this.seconds();
    for (const plot of this.drawn) plot.setScale('x', { min, max });
    this.drawStrip();
    this.told();
    this.keep();
  }

  /** What is shown is in the address: it can be sent to somebody. */
  keep() {
    const address = new URL(location.href);
    const set = (/** @type {string} */ name, /** @type {string} */ value) =>
      value === '' ? address.searchParams.delete(name) : address.searchParams.set(name, value);
    set('show', this.showName === 'all' ? '' : (this.showName ?? ''));
    set('scale', this.isLog ? 'log' : '');
    if (this.showName === 'all') for (const name of ['from', 'to', 'month']) address.searchParams.delete(name);
    history.replaceState(history.state, '', address);
  }

  /** The buttons, the link to the CSV and the table follow what is shown. */
  told() {
    const [from, to] = this.view ?? this.whole;
    const isWhole = from <= this.whole[0] && to >= this.whole[1];
    for (const link of this.part.querySelectorAll('[data-show]')) {
      const isShown = link.getAttribute('data-show') === (isWhole ? 'all' : this.showName);
      if (isShown) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
    const log = this.part.querySelector('[data-scale]');
    if (this.isLog) log?.setAttribute('aria-current', 'true');
    else log?.removeAttribute('aria-current');
    const csv = this.part.querySelector('[data-csv]');
    if (csv instanceof HTMLAnchorElement) {
      csv.href = `${csv.dataset['csv']}${isWhole ? '' : `?from=${dayText(from)}&to=${dayText(to)}`}`;
    }
    if (this.table.open) this.fillTable();
  }

  listen() {
    document.addEventListener('click', (event) => {
      const link = event.target instanceof Element ? event.target.closest('a') : null;
      if (link === null || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
      if (this.follow(link)) event.preventDefault();
    });
    this.strip.addEventListener('click', (event) => {
      const stretch = this.stretchAt(event.offsetX);
      if (stretch !== undefined) this.choose(...this.gapAround(stretch));
    });
    this.strip.addEventListener('mousemove', (event) => {
      this.strip.classList.toggle('may-choose', this.stretchAt(event.offsetX) !== undefined);
    });
    this.box.addEventListener('mouseleave', () => (this.tip.hidden = true));
    this.box.addEventListener('keydown', (event) => this.onKey(event));
    this.table.addEventListener('toggle', () => this.table.open && this.fillTable());
    let width = this.box.clientWidth;
    new ResizeObserver(() => {
      if (this.box.clientWidth === width) return;
      width = this.box.clientWidth;
      for (const plot of this.drawn) plot.setSize({ width, height: plot.height });
      this.drawStrip();
    }).observe(this.box);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  /** Whether the link is one of what is shown here. @param {HTMLAnchorElement} link */
  follow(link) {
    const { searchParams } = new URL(link.href);
    const { show: name, scale, gap, day } = link.dataset;
    if (name !== undefined) this.zoom(this.viewOf(searchParams), name);
    else if (scale !== undefined) {
      this.isLog = !this.isLog;
      this.draw();
      this.told();
      this.keep();
    } else if (gap !== undefined) {
      this.choose(dayNumber(searchParams.get('from') ?? ''), dayNumber(searchParams.get('to') ?? ''));
    } else if (day !== undefined) {
      this.zoom(this.around(dayNumber(day), dayNumber(day) + 1));
      this.part.scrollIntoView({ block: 'start' });
      this.point(dayNumber(day) - this.well.first);
    } else return false;
    return true;
  }

  /** Fills the form with days, and shows them. @param {number} from @param {number} to */
  choose(from, to) {
    const inputs = this.inputs();
    if (inputs !== undefined) {
      inputs.from.value = dayText(from);
      inputs.to.value = dayText(to - 1);
    }
    this.zoom(this.around(from, to));
    const address = new URL(location.href);
    address.searchParams.set('from', dayText(from));
    address.searchParams.set('to', dayText(to));
    address.searchParams.delete('month');
    history.replaceState(history.state, '', address);
    this.part.scrollIntoView({ block: 'start' });
    const button = this.part.querySelector('#backfill button');
    if (button instanceof HTMLButtonElement) {
      button.classList.add('first');
      button.focus({ preventScroll: true });
    }
  }

  /** A gap may be of several states. @param {Stretch} stretch @returns {[number, number]} */
  gapAround(stretch) {
    let [from, to] = stretch;
    for (const each of this.stretches.toReversed()) if (isGap(each[2]) && each[1] === from) from = each[0];
    for (const each of this.stretches) if (isGap(each[2]) && each[0] === to) to = each[1];
    return [from, to];
  }

  /** The gap at a place of the strip; a little beside it counts as well. @param {number} x */
  stretchAt(x) {
    const [from, to] = this.view ?? this.whole;
    const width = this.box.clientWidth - axisWidth - rightSpace;
    const [day, near] = [from + ((x - axisWidth) / width) * (to - from), (3 / width) * (to - from)];
    return this.stretches.find(([begin, end, state]) => isGap(state) && day >= begin - near && day < end + near);
  }

  drawStrip() {
    const { strip, box } = this;
    const [ratio, height] = [devicePixelRatio, 18];
    const width = box.clientWidth;
    strip.width = Math.round(width * ratio);
    strip.height = Math.round(height * ratio);
    const context = /** @type {CanvasRenderingContext2D} */ (strip.getContext('2d'));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const palette = coloursOf(box, stateColours);
    context.font = `12px ${getComputedStyle(box).fontFamily}`;
    context.fillStyle = palette['muted'] ?? '';
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    context.fillText('Days', axisWidth - 8, height / 2);
    const [from, to] = this.view ?? this.whole;
    const inner = width - axisWidth - rightSpace;
    const xOf = (/** @type {number} */ day) => axisWidth + Math.min(1, Math.max(0, (day - from) / (to - from))) * inner;
    // Rare days last: one among thousands is to be seen.
    const order = [
      'present',
      'never-read',
      'restated',
      'undecided',
      'missing',
      'held',
      'quarantined-kept',
      'quarantined',
    ];
    const shown = this.stretches.filter(([begin, end]) => begin < to && end > from);
    for (const [begin, end, state] of shown.toSorted((a, b) => order.indexOf(a[2]) - order.indexOf(b[2]))) {
      const left = xOf(begin);
      fillState(context, state, { left, top: 2, width: Math.max(1, xOf(end) - left), height: height - 4 }, palette);
    }
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const [from, to] = this.view ?? this.whole;
    const { days, first } = this.well;
    const steps = /** @type {Record<string, number>} */ ({
      ArrowLeft: -1,
      ArrowRight: 1,
      PageUp: -30,
      PageDown: 30,
      Home: -days,
      End: days,
    });
    const step = steps[event.key];
    const middle = this.index === undefined ? (from + to) / 2 : first + this.index;
    const third = (to - from) / 4;
    if (step !== undefined) {
      const begin = Math.min(days - 1, to - 1 - first);
      this.point(this.index === undefined ? begin : Math.min(days - 1, Math.max(0, this.index + step)));
    } else if (event.key === '+') this.zoom([Math.round(middle - third), Math.round(middle + third)]);
    else if (event.key === '-') this.zoom([Math.round(middle - 4 * third), Math.round(middle + 4 * third)]);
    else if (event.key === '0') this.zoom(this.whole, 'all');
    else if (event.key === 'Escape') this.tip.hidden = true;
    else return;
    event.preventDefault();
  }

  /** Sets the cursor of all plots to a day, and shows it. @param {number} index */
  point(index) {
    const day = this.well.first + index;
    const [from, to] = this.view ?? this.whole;
    const shift = day < from ? day - from : day >= to ? day - to + 1 : 0;
    if (shift !== 0) this.zoom([from + shift, to + shift]);
    const [plot] = this.drawn;
    const left = plot.valToPos(day * daySeconds, 'x');
    for (const each of this.drawn) each.setCursor({ left, top: 20 }, false);
    this.index = undefined;
    this.onDay(index, plot);
  }

  /** @param {number | null | undefined} index @param {any} plot */
  onDay(index, plot) {
    if (index === null || index === undefined || (plot.cursor.left ?? -1) < 0) {
      if (!this.box.matches(':hover')) this.tip.hidden = true;
      return;
    }
    if (plot.root.matches(':hover') || !this.tip.dataset['plot'])
      this.tip.dataset['plot'] = String(this.drawn.indexOf(plot));
    if (index !== this.index || this.tip.hidden) {
      this.index = index;
      const rows = this.days.rowsOf(index);
      this.valuesText.textContent = rows.map(([name, text]) => (text === '' ? name : `${name} ${text}`)).join(', ');
      this.tip.replaceChildren(...tipOf(rows));
    }
    this.placeTip(plot.cursor.left + axisWidth);
  }

  /** Beside the cursor, on the side where there is room. @param {number} x */
  placeTip(x) {
    this.tip.hidden = false;
    const { clientWidth } = this.box;
    const { offsetWidth } = this.tip;
    const isLeft = x + offsetWidth + 24 > clientWidth;
    const left = isLeft ? Math.max(0, x - offsetWidth - 14) : x + 14;
    const plot = this.box.querySelectorAll('.well-plot')[Number(this.tip.dataset['plot'] ?? 0)];
    const top = plot instanceof HTMLElement ? plot.offsetTop + 28 : 0;
    this.tip.style.transform = `translate(${left}px, ${top}px)`;
  }

  fillTable() {
    this.table.querySelector('.scroll')?.replaceChildren(...this.days.table(this.view ?? this.whole));
  }
}
