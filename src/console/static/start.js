// Starting an export: what the form says is looked at by the API first, shown in words, and started by a second click.
// @ts-check
import { keyOf, problemText } from './console.js';

const startForm = document.querySelector('#start');
if (startForm instanceof HTMLFormElement) prepare(startForm);

/** @param {HTMLFormElement} form */
function prepare(form) {
  const confirm = /** @type {HTMLElement} */ (document.querySelector('#confirm'));
  const [lead, unknown] = confirm.querySelectorAll('p');
  const startNow = /** @type {HTMLButtonElement} */ (confirm.querySelector('#start-now'));
  /** @type {{ name: string, member: string, many: string }[]} */
  const exports = JSON.parse(form.dataset['exports'] ?? '[]');
  /** What was looked at. @type {object | undefined} */
  let asked;

  const isOfDays = () => value('export') === 'daily-production';
  /** @param {string} name */
  const value = (name) => {
    const given = new FormData(form).get(name);
    return typeof given === 'string' ? given.trim() : '';
  };

  const adapt = () => {
    for (const part of form.querySelectorAll('[data-of]'))
      if (part instanceof HTMLElement) part.hidden = part.dataset['of'] !== value('export');
    const many = form.querySelector('[data-many]');
    if (many !== null) many.textContent = exports.find(({ name }) => name === value('export'))?.many ?? 'wells';
    const names = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem('names'));
    names.disabled = value('which') !== 'named';
  };

  const bodyOf = () => {
    const name = value('export');
    const { member = 'uwis' } = exports.find((each) => each.name === name) ?? {};
    const which = value('which');
    const names = value('names')
      .split(/[\n\r\t]+/)
      .map((each) => each.trim())
      .filter((each) => each !== '');
    return {
      export: name,
      ...(which === 'named' ? { [member]: names } : {}),
      ...(which === 'warehouse' ? { fromWarehouse: true } : {}),
      ...(isOfDays() ? daysOf() : {}),
    };
  };

  const daysOf = () => {
    const [from, lastDay] = [value('from'), value('lastDay')];
    return {
      ...(from === '' ? {} : { from }),
      ...(lastDay === '' ? {} : { to: dayAfter(lastDay) }),
      ...(value('gaps') === '' ? {} : { gaps: true }),
    };
  };

  /** @param {object} body @param {HTMLElement} place @returns {Promise<Record<string, any> | undefined>} */
  const ask = async (body, place) => {
    const output = place.querySelector('output.form-state');
    /** @param {string} text */
    const say = (text) => {
      if (output !== null) output.textContent = text;
    };
    const buttons = [...place.querySelectorAll('button')];
    for (const button of buttons) button.disabled = true;
    say('');
    try {
      const sent = JSON.stringify(body);
      const headers = { 'content-type': 'application/json', ...keyOf(form, sent) };
      const answer = await fetch('/api/v1/runs', { method: 'POST', headers, body: sent });
      const text = await answer.text();
      if (answer.ok) return JSON.parse(text);
      say(problemText(text, answer.status));
    } catch {
      say('No answer from wellsync. Send it again: it is done once.');
    } finally {
      for (const button of buttons) button.disabled = false;
    }
    return undefined;
  };

  const hide = () => {
    asked = undefined;
    confirm.hidden = true;
  };

  adapt();
  form.addEventListener('input', () => {
    adapt();
    hide();
  });
  const look = async () => {
    hide();
    const body = bodyOf();
    const found = await ask({ ...body, dryRun: true }, form);
    if (found === undefined) return;
    asked = body;
    if (lead !== undefined) lead.textContent = `${found['title']}: ${found['covers']}.`;
    if (unknown !== undefined) unknown.textContent = unknownText(found);
    confirm.hidden = false;
    confirm.className = `note ${found['neverRead'] > 0 ? 'warn' : 'good'}`;
    startNow.focus();
  };
  const start = async () => {
    if (asked === undefined) return;
    const started = await ask(asked, confirm);
    if (started !== undefined) location.assign(`/runs/${encodeURIComponent(started['runId'])}`);
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void look();
  });
  startNow.addEventListener('click', () => void start());
  confirm.querySelector('#change')?.addEventListener('click', () => {
    hide();
    form.querySelector('textarea')?.focus();
  });
}

/** @param {Record<string, any>} look */
function unknownText({ targets, neverRead, firstNeverRead }) {
  if (neverRead === 0) return '';
  const more = neverRead > firstNeverRead.length ? ` and ${neverRead - firstNeverRead.length} more` : '';
  const which = targets === 1 ? 'It was' : `${neverRead} of ${targets} were`;
  return `${which} never read into this warehouse: ${firstNeverRead.join(', ')}${more}. A new name is right here; check that it is not a mistake.`;
}

/** @param {string} day */
function dayAfter(day) {
  return new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
}
