// What every page does in the browser: times in the reader's zone, the live part of a page, and forms that are sent once.
// @ts-check

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const clockParts = /** @type {const} */ ({ hour: '2-digit', minute: '2-digit', hour12: false });
const dayParts = /** @type {const} */ ({ day: 'numeric', month: 'short', ...clockParts });
const forms = /** @type {const} */ ({
  clock: clockParts,
  dayAndClock: dayParts,
  dated: { year: 'numeric', ...dayParts },
  toTheSecond: { ...dayParts, second: '2-digit' },
});
/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/** A form is made when it is first needed: that takes longer than all else before the page is painted. @param {keyof typeof forms} form @param {Date} instant */
function inForm(form, instant) {
  const format = formats.get(form) ?? new Intl.DateTimeFormat(undefined, forms[form]);
  formats.set(form, format);
  return format.format(instant);
}

/** @param {Date} instant @param {boolean} hasSeconds */
function shortText(instant, hasSeconds = false) {
  if (hasSeconds) return inForm('toTheSecond', instant);
  const now = new Date();
  if (instant.toDateString() === now.toDateString()) return `today ${inForm('clock', instant)}`;
  return inForm(instant.getFullYear() === now.getFullYear() ? 'dayAndClock' : 'dated', instant);
}

/** Shows the times below an element in the reader's zone; the title keeps UTC. @param {ParentNode} root */
export function showTimes(root) {
  for (const time of root.querySelectorAll('time[datetime]')) {
    const instant = new Date(time.getAttribute('datetime') ?? '');
    if (Number.isNaN(instant.getTime())) continue;
    time.setAttribute('title', `${instant.toISOString().slice(0, 19).replace('T', ' ')} UTC`);
    time.textContent = shortText(instant, time.hasAttribute('data-seconds'));
  }
}

showTimes(document);
const zoneText = document.querySelector('#zone');
if (zoneText !== null) zoneText.textContent = `Times are those of ${zone}; point at one for UTC.`;

// On a phone the sections scroll.
document.querySelector('.nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });

/** A session ends, by its time or with the server; loading a page leads to signing in, and back. */
const signedOut = 'You are no longer signed in: load the page again.';

// What changes something goes to the HTTP API. The key of the page, with what is asked for, makes a click that comes twice
// one request.
document.addEventListener('submit', (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.dataset['asks'] === undefined) return;
  event.preventDefault();
  void ask(form, event.submitter);
});

/** @param {HTMLFormElement} form @param {HTMLElement | null} submitter */
async function ask(form, submitter) {
  const output = form.querySelector('output.form-state');
  /** @param {string} text */
  const say = (text) => {
    if (output !== null) output.textContent = text;
  };
  const typedName = form.querySelector('[data-typed]');
  if (typedName instanceof HTMLInputElement && typedName.value !== typedName.dataset['typed'])
    return say(`Type ${typedName.dataset['typed']} to confirm.`);
  const wrongDays = faultOfDays(form);
  if (wrongDays !== '') return say(wrongDays);
  // Before its button is disabled, which would take what the button says out of the form.
  const request = requestOf(form, submitter);
  const buttons = [...form.querySelectorAll('button')];
  for (const button of buttons) button.disabled = true;
  say('');
  const waiting = setTimeout(() => say('Waiting for an answer from wellsync.'), 1_000);
  try {
    const answer = await fetch(...request);
    const text = await answer.text();
    if (answer.status === 401) return say(`${signedOut} Nothing was sent.`);
    if (!answer.ok) {
      if (awayOf(answer.headers) !== '') foundAway(awayOf(answer.headers));
      return say(problemText(text, answer.status));
    }
    const body = text === '' ? {} : JSON.parse(text);
    if (body.dryRun === true) return showLook(body);
    if (body.state === 'already-pushed') return say(alreadyPushed(body));
    const next = nextPage(form, body);
    if (next === undefined || next === location.pathname) location.reload();
    else location.assign(next);
  } catch {
    say('No answer from wellsync. Send it again: it is done once.');
  } finally {
    clearTimeout(waiting);
    for (const button of buttons) button.disabled = false;
  }
}

/** @param {HTMLFormElement} form @param {HTMLElement | null} submitter @returns {[string, RequestInit]} */
function requestOf(form, submitter) {
  // A button may ask for something else than its form, and without one of the fields.
  const [method = 'POST', path = ''] = (submitter?.dataset['asks'] ?? form.dataset['asks'] ?? '').split(' ');
  const fields = new FormData(form, submitter);
  for (const name of hiddenFields(form)) fields.delete(name);
  fields.delete(submitter?.dataset['without'] ?? '');
  const file = fields.get('file');
  if (file instanceof File) {
    fields.delete('file');
    const query = new URLSearchParams({ ...JSON.parse(form.dataset['body'] ?? '{}'), name: file.name });
    for (const [name, value] of fields) if (typeof value === 'string') query.set(name, value);
    const type = file.name.endsWith('.gz') ? 'application/gzip' : 'text/csv';
    const key = keyOf(form, `${query.toString()} ${file.size} ${file.lastModified}`);
    return [`${path}?${query.toString()}`, { method, body: file, headers: { 'content-type': type, ...key } }];
  }
  const body = JSON.parse(form.dataset['body'] ?? '{}');
  for (const [name, value] of fields)
    if (typeof value === 'string' && value !== '') setAt(body, name.split('.'), typed(form, name, value));
  const text = JSON.stringify(body);
  const isEmpty = text === '{}';
  const type = isEmpty ? {} : { 'content-type': 'application/json' };
  return [path, { method, headers: { ...type, ...keyOf(form, text) }, ...(isEmpty ? {} : { body: text }) }];
}

/** Names of the fields that the choice of another one hides. @param {HTMLFormElement} form */
function hiddenFields(form) {
  const fields = /** @type {(HTMLElement & { name?: string, type?: string })[]} */ ([
    ...form.querySelectorAll('[name]'),
  ]);
  return fields.flatMap((field) => (field.offsetParent === null && field.type !== 'hidden' ? [field.name ?? ''] : []));
}

// A field that is hidden is not required.
document.addEventListener('change', (event) => {
  const form = event.target instanceof HTMLSelectElement ? event.target.form : null;
  for (const field of form?.querySelectorAll('.of-kind input') ?? [])
    if (field instanceof HTMLInputElement) field.required = field.offsetParent !== null;
});

/** @param {HTMLFormElement} form @param {string} asked */
export function keyOf(form, asked) {
  let hash = 0;
  for (const letter of asked) hash = (Math.imul(hash, 31) + (letter.codePointAt(0) ?? 0)) | 0;
  return { 'idempotency-key': `${form.dataset['key']}.${(hash >>> 0).toString(36)}` };
}

/** `targets.0.kind`: a member of the first item of a list. @param {any} whole @param {string[]} names @param {unknown} value */
function setAt(whole, [name = '', ...rest], value) {
  if (rest.length === 0) whole[name] = value;
  else setAt((whole[name] ??= /^\d+$/.test(rest[0] ?? '') ? [] : {}), rest, value);
}

/** @param {HTMLFormElement} form @param {string} name @param {string} value */
function typed(form, name, value) {
  const field = form.elements.namedItem(name);
  const type = field instanceof HTMLInputElement ? field.dataset['type'] : undefined;
  if (type === 'boolean') return true;
  if (type === 'last-day') return dayAfter(value);
  return type === 'number' ? Number(value) : value;
}

/** People name the last day of a range, the API the first day that is left out. @param {string} day */
export function dayAfter(day) {
  return new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
}

/** What is wrong with the days of a form, in its words; empty where nothing is. @param {HTMLFormElement} form */
export function faultOfDays(form) {
  const [from, last] = [form.elements.namedItem('from'), form.querySelector('[data-type="last-day"]')];
  if (!(from instanceof HTMLInputElement && last instanceof HTMLInputElement)) return '';
  if (from.value === '' || last.value === '' || from.value <= last.value) return '';
  return `The last day, ${last.value}, is before the first day, ${from.value}. Both are included: choose a last day from ${from.value} on.`;
}

/** @param {{ at: string, runId: string }} answer */
function alreadyPushed({ at, runId }) {
  return `Nothing was sent: this content was pushed ${shortText(new Date(at))}, by run ${runId}. Tick the box to push it again.`;
}

/** @param {HTMLFormElement} form @param {Record<string, string | undefined>} answer @returns {string | undefined} */
function nextPage(form, answer) {
  const then = form.dataset['then'];
  if (then !== undefined) return then.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(answer[name] ?? ''));
  const { runId } = answer;
  if (typeof runId !== 'string' || location.pathname === `/runs/${runId}`) return undefined;
  return `/runs/${encodeURIComponent(runId)}`;
}

/** What turns the direction of writing is shown as its code. @param {string} text */
export function plain(text) {
  return text.replaceAll(
    /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (mark) => `\\u${mark.charCodeAt(0).toString(16)}`,
  );
}

/**
 * What a check of a file has found.
 * @param {{ file: string, counts: Record<string, number>, balance: { balanced: boolean }, notices: string[] }} look
 */
function showLook({ file, counts, balance, notices }) {
  const remark = document.querySelector('#look');
  if (remark === null) return;
  /** @param {string} name @param {string} text @param {Element[]} children */
  const make = (name, text = '', ...children) => {
    const element = document.createElement(name);
    element.textContent = text;
    element.append(...children);
    return element;
  };
  const { rejectedByUs = 0 } = counts;
  const found =
    rejectedByUs === 0 ? 'Every row can be sent.' : 'Rows that cannot be sent would be rejected, with their reason.';
  const figures = make('dl');
  figures.className = 'figures';
  for (const [name, count] of Object.entries(counts)) {
    const spaced = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    const pair = make('div', '', make('dt', spaced), make('dd', count.toLocaleString('en-US')));
    pair.className = 'figure';
    figures.append(pair);
  }
  const list = make('ul', '', ...notices.map((notice) => make('li', plain(notice))));
  list.className = 'list';
  const title = make('h3', '');
  const name = make('bdi', plain(file));
  title.append(name, ' was checked, and nothing was sent.');
  remark.replaceChildren(title, make('p', found), figures, list);
  remark.className = `note ${rejectedByUs === 0 && balance.balanced ? 'good' : 'warn'}`;
}

/** What happened, and what to do next, of a problem document. @param {string} text @param {number} status */
export function problemText(text, status) {
  try {
    const { detail, hint, issues = [] } = JSON.parse(text);
    const parts = [detail, ...issues, hint].filter((part) => typeof part === 'string');
    return parts.map((part) => (/[.!?]$/.test(part) ? part : `${part}.`)).join(' ');
  } catch {
    return `wellsync answered ${status}.`;
  }
}

// A page leaves once the reader has gone on: nothing of the page itself may take that back.
let isLeaving = false;
addEventListener('beforeunload', () => (isLeaving = true));
addEventListener('pageshow', () => (isLeaving = false));

function reload() {
  if (!isLeaving) location.reload();
}

// How old the page is, and whether anybody answers: told under the header.

const shownTime = document.querySelector('#shown time');
let shownAtMs = Date.parse(shownTime?.getAttribute('datetime') ?? '') || Date.now();
let isAnswered = true;
/** What keeps the warehouse from being read; empty where nothing does. */
let away = document.querySelector('[data-away]')?.getAttribute('data-away') ?? '';
/** A page that nothing renews is old after so long. */
const oldMs = 5 * 60_000;

/** @param {Headers} headers */
function awayOf(headers) {
  return decodeURIComponent(headers.get('x-away') ?? '');
}

/** @param {string | null} asOf */
function renewed(asOf) {
  shownAtMs = Date.parse(asOf ?? '') || Date.now();
  shownTime?.setAttribute('datetime', new Date(shownAtMs).toISOString());
  if (shownTime?.parentElement) showTimes(shownTime.parentElement);
}

/** @param {number} ageMs */
function ageText(ageMs) {
  const minutes = Math.floor(ageMs / 60_000);
  if (minutes < 1) return `${Math.max(0, Math.round(ageMs / 1_000))} s`;
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`;
}

function showAge() {
  const banner = document.querySelector('#banner');
  if (banner === null) return;
  const ageMs = Date.now() - shownAtMs;
  const isOld = ageMs > oldMs;
  const when = `${shortText(new Date(shownAtMs))}, ${ageText(ageMs)} ago`;
  const text = !isAnswered
    ? `No answer from wellsync. This page shows ${when}. It looks again by itself; nothing is lost.`
    : away !== ''
      ? `As of ${when}: ${away}`
      : isOld
        ? `This page shows ${when}. `
        : '';
  document.body.classList.toggle('is-old', text !== '');
  banner.classList.toggle('is-shown', text !== '');
  if (banner.textContent?.startsWith(text) && text !== '') return;
  banner.textContent = text;
  if (text === '' || !isAnswered || away !== '') return;
  const link = document.createElement('a');
  link.href = location.href;
  link.textContent = 'Load it again';
  banner.append(link);
}

/** @param {boolean} answered @param {string} because What keeps the warehouse from being read. */
function answers(answered, because = away) {
  isAnswered = answered;
  away = because;
  showAge();
}

setInterval(showAge, 5_000);
addEventListener('offline', () => answers(false));

const live = document.querySelector('[data-live]');
const isFollowed = live instanceof HTMLElement && live.dataset['ended'] !== 'true';
showAge();
if (isFollowed) follow(live);
else void watch();

/** Whether the server of a page that nothing renews still answers. */
async function watch() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    if (document.hidden) continue;
    try {
      answers((await fetch('/healthz', { cache: 'no-store' })).ok);
    } catch {
      answers(false);
    }
  }
}

/** Replaces the live part of the page as long as it changes. @param {HTMLElement} part */
function follow(part) {
  const key = part.querySelector('form[data-key]')?.getAttribute('data-key') ?? '';
  const path = part.dataset['live'] ?? '';
  const hasKey = key === '' || /[?&]key=/.test(path);
  const address = hasKey ? path : `${path}${path.includes('?') ? '&' : '?'}key=${key}`;
  const linkState = document.querySelector('#link-state');
  let [etag, failures] = ['', 0];

  const look = async () => {
    if (document.hidden) return schedule(2_000);
    try {
      const answer = await fetch(address, { headers: etag === '' ? {} : { 'if-none-match': etag } });
      if (answer.status === 401 || answer.status === 403) {
        // What stands there would grow old unseen; whoever is at a control keeps it.
        return part.contains(document.activeElement) ? say(signedOut) : reload();
      }
      if (!answer.ok && answer.status !== 304) {
        answers(true, problemText(await answer.text(), answer.status));
        failures += 1;
        return schedule(Math.min(30_000, 2_000 * 2 ** failures));
      }
      failures = 0;
      // What the reader is using, or has begun to fill in, stays as it is: the page is renewed once that is sent or left.
      const isInUse = answer.status === 200 && (part.contains(document.activeElement) || isBegun(part));
      if (!isInUse) renewed(answer.headers.get('x-as-of'));
      answers(true, awayOf(answer.headers));
      if (answer.status === 200) {
        if (!isInUse) {
          etag = answer.headers.get('etag') ?? '';
          replace(part, await answer.text());
        }
        if (answer.headers.get('x-ended') === 'true') {
          say('The run has ended.');
          return void watch();
        }
      }
      schedule(2_000);
    } catch {
      failures += 1;
      answers(false);
      schedule(Math.min(30_000, 2_000 * 2 ** failures));
    }
  };
  /** @param {number} delayMs */
  const schedule = (delayMs) => void setTimeout(() => void look(), delayMs);
  /** @param {string} text */
  const say = (text) => {
    if (linkState !== null) linkState.textContent = text;
  };
  schedule(2_000);
}

/** Whether a field holds what the page did not give it. @param {HTMLElement} part */
function isBegun(part) {
  return [...part.querySelectorAll('input, textarea')].some((field) => {
    if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) return false;
    const isBox = field instanceof HTMLInputElement && (field.type === 'checkbox' || field.type === 'radio');
    return isBox ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
  });
}

/** What the reader has unfolded stays so. @param {HTMLElement} part @param {string} html */
function replace(part, html) {
  const folds = [...part.querySelectorAll('details[id]')].map((fold) => ({
    id: fold.id,
    isOpen: fold.hasAttribute('open'),
  }));
  part.innerHTML = html;
  for (const { id, isOpen } of folds) document.getElementById(id)?.toggleAttribute('open', isOpen);
  showTimes(part);
}

// A page that could not be made, or is not of now, is asked for again, and loaded once it can be.
const again = document.querySelector('[data-again]');
let isAskedAgain = false;
if (again instanceof HTMLElement) askAgain(Number(again.dataset['again']) * 1_000);

/** An answer to a form says that the warehouse is away. @param {string} because */
function foundAway(because) {
  answers(true, because);
  askAgain(5_000);
}

/** The live part of a page asks by itself. @param {number} everyMs */
function askAgain(everyMs) {
  if (isFollowed || isAskedAgain) return;
  isAskedAgain = true;
  void waitForPage(everyMs);
}

/** @param {number} everyMs */
async function waitForPage(everyMs) {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, everyMs));
    if (isLeaving) continue;
    try {
      const { ok, headers } = await fetch(location.href, { headers: { accept: 'text/html' } });
      if (!ok) continue;
      answers(true, awayOf(headers));
      if (away === '' && !isBegun(document.body)) return reload();
    } catch {
      // The next one may be answered.
    }
  }
}

// Suggestions below the search field: what it leads to, chosen by the arrow keys or a click.

const search = document.querySelector('#search');
const suggestions = document.querySelector('#suggestions');
if (search instanceof HTMLInputElement && suggestions instanceof HTMLElement) suggest(search, suggestions);

/** @param {HTMLInputElement} input @param {HTMLElement} list */
function suggest(input, list) {
  let [asked, chosen] = [0, -1];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-controls': list.id,
    'aria-autocomplete': 'list',
    'aria-expanded': 'false',
  }))
    input.setAttribute(name, value);
  const options = () => [...list.querySelectorAll('[role=option]')];
  /** @param {boolean} isShown */
  const show = (isShown) => {
    list.hidden = !isShown;
    input.setAttribute('aria-expanded', String(isShown));
    if (!isShown) choose(-1);
  };
  /** @param {number} index */
  const choose = (index) => {
    chosen = index;
    for (const [at, option] of options().entries()) option.setAttribute('aria-selected', String(at === index));
    const option = options()[index];
    if (option === undefined) input.removeAttribute('aria-activedescendant');
    else input.setAttribute('aria-activedescendant', option.id);
    option?.scrollIntoView({ block: 'nearest' });
  };
  const find = async () => {
    const text = input.value.trim();
    const turn = (asked += 1);
    if (text === '') return show(false);
    try {
      const answer = await fetch(`/api/v1/search?${new URLSearchParams({ text, limit: '10' })}`);
      if (!answer.ok || turn !== asked) return;
      const { found } = await answer.json();
      if (turn !== asked) return;
      list.replaceChildren(...found.map(optionOf));
      show(found.length > 0 && document.activeElement === input);
    } catch {
      show(false);
    }
  };
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => void find(), 120);
  });
  input.addEventListener('keydown', (event) => {
    const count = options().length;
    if (event.key === 'Escape') return show(false);
    if (list.hidden || count === 0) return;
    if (event.key === 'ArrowDown') choose((chosen + 1) % count);
    else if (event.key === 'ArrowUp') choose((chosen + count) % count === 0 ? count - 1 : chosen - 1);
    else if (event.key === 'Enter' && chosen >= 0) location.assign(options()[chosen]?.getAttribute('data-href') ?? '');
    else return;
    event.preventDefault();
  });
  // Before the field loses the focus, which closes the list.
  list.addEventListener('mousedown', (event) => {
    event.preventDefault();
    const option = event.target instanceof Element ? event.target.closest('[data-href]') : null;
    if (option !== null) location.assign(option.getAttribute('data-href') ?? '');
  });
  input.addEventListener('blur', () => show(false));
}

const pagesOfKinds = /** @type {Record<string, string>} */ ({
  well: 'wells',
  run: 'runs',
  file: 'runs',
  plan: 'cleanup',
});

/** @param {{ kind: string, id: string, name: string, remark: string | null }} found @param {number} index */
function optionOf({ kind, id, name, remark }, index) {
  const option = document.createElement('li');
  option.id = `suggestion-${index}`;
  option.setAttribute('role', 'option');
  option.dataset['href'] = `/${pagesOfKinds[kind]}/${encodeURIComponent(id)}`;
  const label = document.createElement('bdi');
  label.textContent = plain(name);
  const about = document.createElement('span');
  about.className = 'muted small';
  about.textContent = remark === null ? kind : `${kind}, ${plain(remark)}`;
  option.append(label, about);
  return option;
}
