// The coverage map: a canvas of the visible wells and months, over an area that scrolls. Blocks of wells come as they are
// scrolled to.
// @ts-check

const map = /** @type {HTMLElement} */ (document.querySelector('#map'));
const canvas = /** @type {HTMLCanvasElement} */ (map.querySelector('canvas'));
const extent = /** @type {HTMLElement} */ (map.querySelector('.extent'));
const cellText = /** @type {HTMLElement} */ (document.querySelector('#cell'));
const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));

const wells = Number(map.dataset['wells']);
const months = monthsBetween(map.dataset['first'] ?? '', map.dataset['last'] ?? '');
const blockWells = 50;
const [rowHeight, headHeight] = [20, 28];
const isNarrow = matchMedia('(max-width: 40rem)').matches;
const labelWidth = isNarrow ? 104 : 176;
const monthWidth = Math.max(7, Math.floor((map.clientWidth - labelWidth - 16) / months.length));

/** @typedef {{ uwi: string, months: Record<string, [number, number, number, number]> }} Well */
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

const colourNames = /** @type {const} */ ([
  'present',
  'quarantined',
  'missing',
  'never-read',
  'ink',
  'muted',
  'rule',
  'surface',
]);

/** The colours of the legend, which follow the scheme of the page. */
function colours() {
  const probe = document.createElement('span');
  map.append(probe);
  const found = colourNames.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return /** @type {Record<typeof colourNames[number], string>} */ (Object.fromEntries(found));
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
    const answer = await fetch(`/coverage/block?from=${number * blockWells}`);
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
  const palette = colours();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  fill(palette.surface, 0, 0, width, height);
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
        context.strokeStyle = palette.ink;
        context.lineWidth = 2;
        context.strokeRect(left, top + 1, monthWidth - 1, rowHeight - 2);
      }
    }
    fill(palette.surface, 0, top, labelWidth, rowHeight);
    context.fillStyle = row === cursor.well ? palette.ink : palette.muted;
    context.fillText(fitting(well?.uwi ?? '…', labelWidth - 16), 8, top + rowHeight / 2);
  }
  drawHead({ firstMonth, lastMonth, scrollLeft, width }, palette);
}

/**
 * @param {[number, number, number, number] | undefined} days
 * @param {number} left
 * @param {number} top
 * @param {ReturnType<typeof colours>} palette
 */
function drawMonth(days, left, top, palette) {
  if (days === undefined) return;
  const whole = days[0] + days[1] + days[2] + days[3];
  if (whole === 0) return;
  const [width, height] = [monthWidth - 1, rowHeight - 4];
  // From below: what is there, then what needs a look. A single bad day must be seen among thirty good ones.
  const parts = /** @type {const} */ ([
    [days[0], palette.present],
    [days[3], palette['never-read']],
    [days[1], palette.quarantined],
    [days[2], palette.missing],
  ]);
  let bottom = top + 2 + height;
  for (const [count, colour] of parts) {
    if (count === 0) continue;
    const part = Math.max(count === whole ? height : 3, (count / whole) * height);
    const from = Math.max(top + 2, bottom - part);
    fill(colour, left, from, width, bottom - from);
    if (colour === palette.quarantined) mark(left, from, width, bottom - from, palette.surface);
    bottom = from;
  }
  // What stands at the top may have been pushed out by the least heights.
  if (days[2] > 0) {
    const missing = Math.max(3, (days[2] / whole) * height);
    fill(palette.missing, left, top + 2, width, missing);
    hatch(left, top + 2, width, missing, palette.ink);
  }
}

/** @param {string} colour @param {number} left @param {number} top @param {number} width @param {number} height */
function fill(colour, left, top, width, height) {
  context.fillStyle = colour;
  context.fillRect(left, top, width, height);
}

/** A diagonal, as in the legend: colour alone must not tell. @param {number} left @param {number} top @param {number} width @param {number} height @param {string} colour */
function hatch(left, top, width, height, colour) {
  if (height < 6) return;
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (let from = left - height; from < left + width; from += 6) {
    context.moveTo(from, top + height);
    context.lineTo(from + height, top);
  }
  context.stroke();
  context.restore();
}

/** A dot. @param {number} left @param {number} top @param {number} width @param {number} height @param {string} colour */
function mark(left, top, width, height, colour) {
  if (height < 6) return;
  fill(colour, left + width / 2 - 1.5, top + height / 2 - 1.5, 3, 3);
}

/**
 * @param {{ firstMonth: number, lastMonth: number, scrollLeft: number, width: number }} view
 * @param {ReturnType<typeof colours>} palette
 */
function drawHead({ firstMonth, lastMonth, scrollLeft, width }, palette) {
  fill(palette.surface, 0, 0, width, headHeight);
  context.fillStyle = palette.muted;
  for (let month = firstMonth; month < lastMonth; month += 1) {
    const name = months[month] ?? '';
    const left = labelWidth + month * monthWidth - scrollLeft;
    if (name.endsWith('-01')) {
      context.fillRect(left, headHeight - 8, 1, 8);
      if (left > labelWidth - 4) context.fillText(name.slice(0, 4), left + 4, headHeight / 2);
    } else if (month === firstMonth && months.length < 12) context.fillText(name, left, headHeight / 2);
  }
  fill(palette.surface, 0, 0, labelWidth, headHeight);
  fill(palette.rule, 0, headHeight - 1, width, 1);
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
    cellText.textContent = well.uwi;
    return;
  }
  const days = well.months[month];
  cellText.textContent = `${well.uwi}, ${month}: ${days === undefined ? 'not asked for' : describe(days)}`;
}

/** @param {[number, number, number, number]} days */
function describe(days) {
  const names = ['present', 'quarantined', 'missing in a read', 'never read'];
  return names.flatMap((name, index) => (days[index] ? [`${days[index]} ${name}`] : [])).join(', ');
}

function open() {
  const well = wellAt(cursor.well);
  if (well === undefined) return;
  const month = months[cursor.month];
  const query = month === undefined ? '' : `?month=${month}`;
  location.assign(`/wells/${encodeURIComponent(well.uwi)}${query}`);
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
map.scrollLeft = extent.offsetWidth;
drawSoon();
