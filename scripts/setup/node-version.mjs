/**
 * Ends the process with a message when Node is too old. Imported first, before any newer syntax is loaded; the scripts
 * therefore keep to syntax and names that Node 16 can link.
 */
import { readFileSync } from 'node:fs';

/** @param {string} text contains `major.minor` */
function majorAndMinor(text) {
  const [major = 0, minor = 0] = (text.match(/\d+/g) ?? []).map(Number);
  return { major, minor };
}

const packageText = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
/** `^20.19.0 || >=24.11.0` */
const ranges = /** @type {{ engines: { node: string } }} */ (JSON.parse(packageText)).engines.node.split('||');
const running = majorAndMinor(process.versions.node);

const isTaken = ranges.some((range) => {
  const { major, minor } = majorAndMinor(range);
  if (running.major === major) return running.minor >= minor;
  return range.includes('>=') && running.major > major;
});

if (!isTaken) {
  const wanted = ranges.map((range) => {
    const { major, minor } = majorAndMinor(range);
    return `${major}.${minor}`;
  });
  console.error(
    `wellsync needs Node ${wanted.join(', ')} or later; this is ${process.versions.node} (${process.execPath}).\n` +
      'Get a current one from https://nodejs.org or with your version manager (nvm install 24), then run this again.',
  );
  process.exit(1);
}
