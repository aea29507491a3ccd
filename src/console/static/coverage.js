// The coverage map: a canvas of the visible wells and months, over an area that scrolls. Blocks of wells come as they are
// scrolled to.
// @ts-check

import { coloursOf, diamond, fillState, stateColours, stateWords } from './day-states.js';

const map = /** @type {HTMLElement} */ (document.querySelector('#map'));
const canvas = /** @type {HTMLCanvasElement} */ (map.querySelector('canvas'));
const extent = /** @type {HTMLElement} */ (map.querySelector('.extent'));
const cellText = /** @type {HTMLElement} */ (document.querySelector('#cell'));
const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));

const wells = Number(map.dataset['wells']);
const query = map.dataset['query'] ?? '';
const months = monthsBetween(map.dataset['first'] ?? '', map.dataset['last'] ?? '');
const blockWells = 50;
const [rowHeight, headHeight] = [20, 28];
const isNarrow = matchMedia('(max-width: 40rem)').matches;
const labelWidth = isNarrow ? 104 : 176;
const monthWidth = Math.max(7, Math.floor((map.clientWidth - labelWidth - 16) / months.length));

/** Present, quarantined, missing and never read days, held rows, restated days. @typedef {[number, number, number, number, number?, number?]} Days */
/** @typedef {{ uwi: string, months: Record<string, Days> }} Well */
/** @type {Map<number, Well[] | 'coming'>} */
const blocks = new Map();
let cursor = { well: -1, month: -1 };

extent.style.width = `${labelWidth + months.length * monthWidth}px`;
extent.style.height = `${headHeight + wells * rowHeight}px`;

/** `2024-03` to `2024-05`: all three. @param {string} first @param {string} last */
function monthsBetween(first, last) {
  const names = [];
  let [year = 0, month = 1] = first.split('-').map(Number);
  for (let name = first; name <= last && names.length < 2_400;) {
    names.push(name);
    month += 1;
    if (month > 12) [year, month] = [year + 1, 1];
    name = `${year}-${String(month).padStart(2, '0')}`;
  }
  return names;
}

/** @param {number} index @returns {Well | undefined} */
function wellAt(index) {
  if (index < 0 || index >= wells) return undefined;
  const number = Math.floor(index / blockWells);
  const block = blocks.get(number);
  if (block === undefined) void load(number);
  return Array.isArray(block) ? block[index % blockWells] : undefined;
}

/** @param {number} number */
async function load(number) {
  blocks.set(number, 'coming');
  try {
    const answer = await fetch(`/coverage/block${query === '' ? '?' : `${query}&`}from=${number * blockWells}`);
    if (!answer.ok) throw new Error(String(answer.status));
    blocks.set(number, (await answer.json()).wells);
    // Far blocks are forgotten: a map of a hundred thousand wells must not fill the memory.
    if (blocks.size > 60)
      for (const far of [...blocks.keys()].slice(0, 20)) if (Math.abs(far - number) > 10) blocks.delete(far);
  } catch {
    cellText.textContent = 'No answer from wellsync: the map goes on as soon as it answers.';
    setTimeout(() => {
      blocks.delete(number);
      drawSoon();
    }, 5_000);
    return;
  }
  tell();
  drawSoon();
}

let isDue = false;
function drawSoon() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    draw();
  });
}

function draw() {
  const { clientWidth: width, clientHeight: height, scrollLeft, scrollTop } = map;
  const ratio = devicePixelRatio;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const palette = coloursOf(map, stateColours);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  fill(palette['surface'] ?? '', 0, 0, width, height);
  const font = getComputedStyle(map).fontFamily;
  context.font = `12px ${font}`;
  context.textBaseline = 'middle';
  const firstRow = Math.floor(scrollTop / rowHeight);
  const lastRow = Math.min(wells, firstRow + Math.ceil((height - headHeight) / rowHeight) + 1);
  const firstMonth = Math.max(0, Math.floor(scrollLeft / monthWidth));
  const lastMonth = Math.min(months.length, firstMonth + Math.ceil((width - labelWidth) / monthWidth) + 1);
  for (let row = firstRow; row < lastRow; row += 1) {
    const top = headHeight + row * rowHeight - scrollTop;
    const well = wellAt(row);
    for (let month = firstMonth; month < lastMonth; month += 1) {
      const left = labelWidth + month * monthWidth - scrollLeft;
      drawMonth(well?.months[months[month] ?? ''], left, top, palette);
      if (row === cursor.well && month === cursor.month) {
        context.strokeStyle = palette['ink'] ?? '';
        context.lineWidth = 2;
        context.strokeRect(left, top + 1, monthWidth - 1, rowHeight - 2);
      }
    }
    fill(palette['surface'] ?? '', 0, top, labelWidth, rowHeight);
    context.fillStyle = row === cursor.well ? (palette['ink'] ?? '') : (palette['muted'] ?? '');
    context.fillText(fitting(plain(well?.uwi ?? '…'), labelWidth - 16), 8, top + rowHeight / 2);
  }
  drawHead({ firstMonth, lastMonth, scrollLeft, width }, palette);
}

/**
 * @param {Days | undefined} days
 * @param {number} left
 * @param {number} top
 * @param {Record<string, string>} palette
 */
function drawMonth(days, left, top, palette) {
  if (days === undefined) return;
  const [present, quarantined, missing, neverRead, heldRows = 0, restatedDays = 0] = days;
  const whole = present + quarantined + missing + neverRead;
  if (whole === 0) return;
  const [width, height] = [monthWidth - 1, rowHeight - 4];
  // From below: what is there, then what needs a look. A single bad day must be seen among thirty good ones.
  const parts = /** @type {const} */ ([
    [present, 'present'],
    [neverRead, 'never-read'],
    [quarantined, 'quarantined'],
    [missing, 'missing'],
  ]);
  let bottom = top + 2 + height;
  for (const [count, state] of parts) {
    if (count === 0) continue;
    const part = Math.max(count === whole ? height : 3, (count / whole) * height);
    const from = Math.max(top + 2, bottom - part);
    fillState(context, state, { left, top: from, width, height: bottom - from }, palette);
    bottom = from;
  }
  // What stands at the top may have been pushed out by the least heights.
  if (missing > 0) {
    fillState(
      context,
      'missing',
      { left, top: top + 2, width, height: Math.max(3, (missing / whole) * height) },
      palette,
    );
  }
  if (heldRows > 0) fillState(context, 'held', { left, top: top + 2 + height - 8, width, height: 8 }, palette);
  if (restatedDays > 0) {
    const [x, y] = [left + width / 2, top + 2 + height / 2];
    context.fillStyle = palette['surface'] ?? '';
    diamond(context, x, y, 5);
    context.fillStyle = palette['restated'] ?? '';
    diamond(context, x, y, 3.5);
  }
}

/** @param {string} colour @param {number} left @param {number} top @param {number} width @param {number} height */
function fill(colour, left, top, width, height) {
  context.fillStyle = colour;
  context.fillRect(left, top, width, height);
}

/**
 * @param {{ firstMonth: number, lastMonth: number, scrollLeft: number, width: number }} view
 * @param {Record<string, string>} palette
 */
function drawHead({ firstMonth, lastMonth, scrollLeft, width }, palette) {
  fill(palette['surface'] ?? '', 0, 0, width, headHeight);
  context.fillStyle = palette['muted'] ?? '';
  for (let month = firstMonth; month < lastMonth; month += 1) {
    const name = months[month] ?? '';
    const left = labelWidth + month * monthWidth - scrollLeft;
    if (name.endsWith('-01')) {
      context.fillRect(left, headHeight - 8, 1, 8);
      if (left > labelWidth - 4) context.fillText(name.slice(0, 4), left + 4, headHeight / 2);
    } else if (month === firstMonth && months.length < 12) context.fillText(name, left, headHeight / 2);
  }
  fill(palette['surface'] ?? '', 0, 0, labelWidth, headHeight);
  fill(palette['rule'] ?? '', 0, headHeight - 1, width, 1);
}

/** @param {string} text @param {number} width */
function fitting(text, width) {
  if (context.measureText(text).width <= width) return text;
  let kept = text.length;
  while (kept > 1 && context.measureText(`${text.slice(0, kept)}…`).width > width) kept -= 1;
  return `${text.slice(0, kept)}…`;
}

/** @param {MouseEvent} event */
function cellAt(event) {
  const box = map.getBoundingClientRect();
  const x = event.clientX - box.left + map.scrollLeft - labelWidth;
  const y = event.clientY - box.top + map.scrollTop - headHeight;
  return { well: Math.floor(y / rowHeight), month: Math.floor(x / monthWidth) };
}

function tell() {
  const well = wellAt(cursor.well);
  const month = months[cursor.month];
  if (well === undefined) return;
  if (month === undefined) {
    cellText.textContent = plain(well.uwi);
    return;
  }
  const days = well.months[month];
  cellText.textContent = `${plain(well.uwi)}, ${month}: ${days === undefined ? 'not asked for' : describe(days)}`;
}

/** @param {Days} days */
function describe(days) {
  const states = ['present', 'quarantined', 'missing', 'never-read', 'held', 'restated'];
  return states.flatMap((state, index) => (days[index] ? [`${days[index]} ${stateWords[state]}`] : [])).join(', ');
}

/** What turns the direction of writing is shown as its code. @param {string} text */
function plain(text) {
  return text.replaceAll(
    /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (mark) => `\\u${mark.charCodeAt(0).toString(16)}`,
  );
}

/** Where a reader was is kept for the way back, by what is shown. */
const keptName = 'map-place';

function open() {
  const well = wellAt(cursor.well);
  if (well === undefined) return;
  const month = months[cursor.month];
  const place = { query, top: map.scrollTop, left: map.scrollLeft, cursor };
  sessionStorage.setItem(keptName, JSON.stringify(place));
  const asked = month === undefined ? '' : `?month=${month}`;
  location.assign(`/wells/${encodeURIComponent(well.uwi)}${asked}`);
}

function returnToPlace() {
  try {
    const place = JSON.parse(sessionStorage.getItem(keptName) ?? '{}');
    if (place.query !== query) return false;
    map.scrollTo({ top: place.top, left: place.left });
    cursor = place.cursor;
    return true;
  } catch {
    return false;
  }
}

map.addEventListener('scroll', drawSoon, { passive: true });
map.addEventListener('mousemove', (event) => {
  cursor = cellAt(event);
  tell();
  drawSoon();
});
map.addEventListener('click', (event) => {
  cursor = cellAt(event);
  open();
});
map.addEventListener('keydown', (event) => {
  const steps = /** @type {Record<string, [number, number]>} */ ({
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    PageUp: [-20, 0],
    PageDown: [20, 0],
    Home: [0, -months.length],
    End: [0, months.length],
  });
  if (event.key === 'Enter') return open();
  const step = steps[event.key];
  if (step === undefined) return;
  event.preventDefault();
  // It begins where one looks: at the latest month of the first row that is seen.
  const isBegin = cursor.well < 0 || cursor.month < 0;
  if (isBegin) {
    const seen = Math.floor((map.scrollLeft + map.clientWidth - labelWidth) / monthWidth) - 1;
    cursor = { well: Math.ceil(map.scrollTop / rowHeight), month: Math.min(months.length - 1, seen) };
  }
  if (!isBegin || event.key === 'Home' || event.key === 'End')
    cursor = {
      well: Math.min(wells - 1, Math.max(0, cursor.well + step[0])),
      month: Math.min(months.length - 1, Math.max(0, cursor.month + step[1])),
    };
  const top = cursor.well * rowHeight;
  if (top < map.scrollTop) map.scrollTop = top;
  if (top + rowHeight > map.scrollTop + map.clientHeight - headHeight)
    map.scrollTop = top + rowHeight - map.clientHeight + headHeight + 8;
  const left = cursor.month * monthWidth;
  if (left < map.scrollLeft) map.scrollLeft = left;
  if (left + monthWidth > map.scrollLeft + map.clientWidth - labelWidth)
    map.scrollLeft = left + monthWidth - map.clientWidth + labelWidth + 8;
  tell();
  drawSoon();
});
new ResizeObserver(drawSoon).observe(map);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawSoon);
// The latest months are of most interest.
if (!returnToPlace()) map.scrollLeft = extent.offsetWidth;
drawSoon();
if (cursor.well >= 0) tell();

// Choosing is showing.
const filter = document.querySelector('#map-filter');
filter?.addEventListener('change', (event) => {
  if (event.target instanceof HTMLSelectElement && filter instanceof HTMLFormElement) filter.requestSubmit();
});
