// The states of days as they are drawn: a colour and a shape each, with the words of the page.
// @ts-check

/** Those of the legend. */
export const stateWords = /** @type {Record<string, string>} */ (
  JSON.parse(document.querySelector('.legend[data-words]')?.getAttribute('data-words') ?? '{}')
);

/** Colours of the style sheet, which follow the scheme of the page. @param {HTMLElement} part @param {readonly string[]} names */
export function coloursOf(part, names) {
  const probe = document.createElement('span');
  part.append(probe);
  const found = names.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return /** @type {Record<string, string>} */ (Object.fromEntries(found));
}

export const stateColours = [...Object.keys(stateWords), 'ink', 'muted', 'rule', 'surface'];

/**
 * Fills a box with a state: colour alone must not tell.
 * @param {CanvasRenderingContext2D} context
 * @param {string} state
 * @param {{ left: number, top: number, width: number, height: number }} box
 * @param {Record<string, string>} palette
 */
export function fillState(context, state, { left, top, width, height }, palette) {
  const { ink = '', surface = '' } = palette;
  context.fillStyle = palette[state] ?? ink;
  context.fillRect(left, top, width, height);
  if (height < 6 || width < 4) return;
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.lineWidth = 1;
  context.strokeStyle = ink;
  context.beginPath();
  if (state === 'missing') {
    for (let from = left - height; from < left + width; from += 6) {
      context.moveTo(from, top + height);
      context.lineTo(from + height, top);
    }
  }
  if (state === 'held') {
    context.lineWidth = 2;
    context.strokeStyle = surface;
    for (let at = top + 4; at < top + height; at += 6) {
      context.moveTo(left, at);
      context.lineTo(left + width, at);
    }
  }
  context.stroke();
  context.fillStyle = surface;
  const middle = top + height / 2;
  if (state === 'quarantined' || state === 'quarantined-kept') {
    for (let at = left + Math.min(width / 2, 5); at < left + width; at += 10)
      context.fillRect(at - 1.5, middle - 1.5, 3, 3);
  }
  if (state === 'restated') {
    for (let at = left + Math.min(width / 2, 5); at < left + width; at += 10) diamond(context, at, middle, 3);
  }
  context.restore();
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} size */
export function diamond(context, x, y, size) {
  context.beginPath();
  context.moveTo(x, y - size);
  context.lineTo(x + size, y);
  context.lineTo(x, y + size);
  context.lineTo(x - size, y);
  context.closePath();
  context.fill();
}
