// What every page does in the browser: times in the reader's zone, the live part of a page, and forms that are sent once.
// @ts-check

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false });
const dayAndClock = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hour12: false,
});
const whole = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hour12: false,
});

/** @param {Date} instant */
function shortText(instant) {
  const now = new Date();
  if (instant.toDateString() === now.toDateString()) return `today ${clock.format(instant)}`;
  return instant.getFullYear() === now.getFullYear() ? dayAndClock.format(instant) : whole.format(instant);
}

/** Shows the times below an element in the reader's zone; the title keeps UTC. @param {ParentNode} root */
export function showTimes(root) {
  for (const time of root.querySelectorAll('time[datetime]')) {
    const instant = new Date(time.getAttribute('datetime') ?? '');
    if (Number.isNaN(instant.getTime())) continue;
    time.setAttribute('title', `${instant.toISOString().slice(0, 19).replace('T', ' ')} UTC`);
    time.textContent = shortText(instant);
  }
}

showTimes(document);
const zoneText = document.querySelector('#zone');
if (zoneText !== null) zoneText.textContent = `Times are those of ${zone}; point at one for UTC.`;

// A form that is sent twice acts once: its key says so to the server, and the button to the reader.
document.addEventListener('submit', (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.method !== 'post') return;
  const button = /** @type {HTMLButtonElement | null} */ (event.submitter);
  // After the form was read, or the button's own value would be missing.
  queueMicrotask(() => button?.setAttribute('disabled', ''));
});
// A page that comes back out of the browser's cache may be used again.
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted) for (const button of document.querySelectorAll('button[disabled]')) button.removeAttribute('disabled');
});

const live = document.querySelector('[data-live]');
if (live instanceof HTMLElement && live.dataset['ended'] !== 'true') follow(live);

/** Replaces the live part of the page as long as it changes. @param {HTMLElement} part */
function follow(part) {
  const address = part.dataset['live'] ?? '';
  const linkState = document.querySelector('#link-state');
  let [etag, failures] = ['', 0];

  const look = async () => {
    if (document.hidden) return schedule(2_000);
    try {
      const answer = await fetch(address, { headers: etag === '' ? {} : { 'if-none-match': etag } });
      if (answer.status === 401 || answer.status === 403)
        return say('You are no longer signed in: load the page again.');
      if (!answer.ok && answer.status !== 304) throw new Error(String(answer.status));
      failures = 0;
      say('');
      if (answer.status === 200) {
        etag = answer.headers.get('etag') ?? '';
        // A control that the reader is using stays as it is.
        if (!part.contains(document.activeElement) || document.activeElement === document.body) {
          part.innerHTML = await answer.text();
          showTimes(part);
        }
        if (answer.headers.get('x-ended') === 'true') return say('The run has ended.');
      }
      schedule(2_000);
    } catch {
      failures += 1;
      say('No answer from wellsync. This page looks again by itself; nothing is lost.');
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

const again = document.querySelector('[data-again]');
if (again instanceof HTMLElement) setTimeout(() => location.reload(), Number(again.dataset['again']) * 1_000);
