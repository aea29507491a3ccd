/**
 * `node secrets.mjs FOLDER`: makes the secrets of docker-compose.yml into a folder, where they are not there yet: the
 * password of Redis, and the token of the console. Each is made once and stays, so that a container that starts again
 * finds what the others have. Readable for the user of wellsync and its group, to which the container of Redis belongs.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name the folder of the secrets: node secrets.mjs FOLDER');

/**
 * @param {string} name
 * @returns {string}
 */
function fileOf(name) {
  return path.join(/** @type {string} */ (folder), name);
}

/**
 * Whole or not at all: whoever is killed meanwhile leaves no half of a secret under its name.
 * @param {string} name
 * @param {string} text
 */
function write(name, text) {
  const half = fileOf(`${name}.half`);
  // One that is there cannot be written to.
  rmSync(half, { force: true });
  writeFileSync(half, text, { mode: 0o440 });
  renameSync(half, fileOf(name));
}

// The file that is looked for is written last.
if (!existsSync(fileOf('redis-password'))) {
  const password = randomBytes(32).toString('hex');
  write('redis.conf', `requirepass ${password}\n`);
  write('redis-password', password);
}
if (!existsSync(fileOf('console.yaml'))) {
  const created = execFileSync('wellsync', ['token', 'create', 'compose', '--role', 'operate', '--json']);
  const { token, ...entry } = /** @type {{ token: string, name: string, role: string, sha256: string }} */ (
    JSON.parse(String(created))
  );
  write('console-token', `${token}\n`);
  write('console.yaml', `http:\n  tokens:\n    - ${JSON.stringify(entry)}\n`);
}
console.log(
  'The password of Redis and the token of the console are there. Sign in at http://127.0.0.1:8080 with what this shows:\n' +
    '  docker compose exec console cat /secrets/console-token',
);
