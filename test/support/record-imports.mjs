/** Loaded by `--import` before a program: writes down the modules that it required, one a line, when it ends. */
import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const record = process.env['RECORDED_IMPORTS'];
const { cache } = createRequire(import.meta.url);

process.on('exit', () => {
  if (record !== undefined) appendFileSync(record, `${Object.keys(cache).join('\n')}\n`);
});
