// Starting an export: what the form says is looked at by the API first, shown in words, and started by a second click.
// @ts-check
import { dayAfter, faultOfDays, keyOf, plain, problemText } from './console.js';

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
    const wrongDays = isOfDays() ? faultOfDays(form) : '';
    const output = form.querySelector('output.form-state');
    if (wrongDays !== '') {
      if (output !== null) output.textContent = wrongDays;
      return;
    }
    const body = bodyOf();
    const found = await ask({ ...body, dryRun: true }, form);
    if (found === undefined) return;
    if (found['lists'].length > 0) {
      splitLines(found['lists']);
      return look();
    }
    asked = body;
    if (lead !== undefined) lead.textContent = `${found['title']}: ${found['covers']}.`;
    if (unknown !== undefined) unknown.textContent = knownText(found, value('which'));
    confirm.hidden = false;
    confirm.className = `note ${found['neverRead'] > 0 ? 'warn' : 'good'}`;
    startNow.focus();
  };
  /** A line with several wells becomes a line for each. @param {{ name: string, parts: string[] }[]} lists */
  const splitLines = (lists) => {
    const names = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem('names'));
    const parts = new Map(lists.map((list) => [list.name, list.parts]));
    names.value = names.value
      .split(/[\n\r\t]+/)
      .flatMap((line) => parts.get(line.trim()) ?? [line])
      .join('\n');
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

/** How many of the names are known, and which are not. @param {Record<string, any>} look @param {string} which */
function knownText({ targets, neverRead, firstNeverRead }, which) {
  if (neverRead === 0) {
    if (which !== 'named') return '';
    return targets === 1 ? 'The name is known to the warehouse.' : `All ${targets} names are known to the warehouse.`;
  }
  const known = targets === 1 ? '' : `The warehouse knows ${targets - neverRead} of the ${targets} names. `;
  const more = neverRead > firstNeverRead.length ? ` and ${neverRead - firstNeverRead.length} more` : '';
  /** @param {string} name */
  const quoted = (name) => `"${plain(name)}"`;
  return `${known}Never read into it: ${firstNeverRead.map(quoted).join(', ')}${more}. A new name is right here; check that it is not a mistake.`;
}
