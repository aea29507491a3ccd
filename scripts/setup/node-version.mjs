/**
 * Ends the process with a message when Node is too old. Imported first, before any newer syntax is loaded; the scripts
 * therefore keep to syntax and names that Node 16 can link.
 */
import { readFileSync } from 'node:fs';

/** @param {string} text starts with, or contains, `major.minor` */
function majorAndMinor(text) {
  const [major = 0, minor = 0] = (text.match(/\d+/g) ?? []).map(Number);
  return { major, minor };
}

const packageText = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
const wanted = majorAndMinor(/** @type {{ engines: { node: string } }} */ (JSON.parse(packageText)).engines.node);
const running = majorAndMinor(process.versions.node);

if (running.major < wanted.major || (running.major === wanted.major && running.minor < wanted.minor)) {
  console.error(
    `wellsync needs Node ${wanted.major}.${wanted.minor} or later; this is ${process.versions.node} (${process.execPath}).\n` +
      'Get a current one from https://nodejs.org or with your version manager (nvm install 22), then run this again.',
  );
  process.exit(1);
}
