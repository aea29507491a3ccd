/** Configuration files and variables that are wrong, hostile or nearly right: words, and never a dead process. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig, type Environment } from '../../../config/load.ts';
import { UsageError } from '../../../src/core/base/errors.ts';

let folder: string;
beforeAll(async () => (folder = await mkdtemp(path.join(tmpdir(), 'wellsync-config-'))));
afterAll(() => rm(folder, { recursive: true }));

function refusalOf(environment: Environment): UsageError {
  try {
    loadConfig({ environment });
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
  throw new Error('the configuration was taken');
}

async function written(name: string, content: string): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, content);
  return file;
}

/** Refuses the text of a configuration file; every part of the refusal on a line. */
async function refusalOfFile(content: string): Promise<string> {
  const { message, issues } = refusalOf({ WELLSYNC_CONFIG: await written('wellsync.yaml', content) });
  return [message, ...issues].join('\n');
}

const bomb = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
for (let level = 1; level < 9; level += 1) {
  bomb.push(`a${level}: &a${level} [${Array.from({ length: 9 }, () => `*a${level - 1}`).join(', ')}]`);
}

describe('a configuration file', () => {
  test.each([
    ['aliases that multiply', bomb.join('\n'), 'its aliases or its nesting make it too large'],
    ['nesting without end', '['.repeat(200_000), 'nesting make it too large'],
    ['an alias of nothing', 'timeZone: *zone', 'an alias (*) names no anchor (&)'],
    [
      'an alias of what holds it',
      'units: &all { oilRate: *all }',
      'an alias (*) lies within what its anchor (&) names',
    ],
    ['an alias of its list', 'checks: { off: &all [*all] }', 'an alias (*) lies within what its anchor (&) names'],
    ['a reserved name', 'push:\n  aliases:\n    __proto__: sourceId\n', 'push.aliases.__proto__'],
    ['a reserved name of a selection', 'cleanup:\n  selections:\n    __proto__: {}\n', 'cleanup.selections.__proto__'],
    ['a fault in line 2', 'timeZone: UTC\nservice: [', 'wellsync.yaml, line 2, column 11: '],
  ])('with %s is refused in words', async (_, content, words) => {
    const refusal = await refusalOfFile(content);
    expect(refusal).toContain(words);
    expect(refusal.endsWith(':')).toBe(false);
    expect(refusal.length).toBeLessThan(1_000);
  });

  test.each(['[oilRate]', '[tubingPressure, choke]', '[tubing_pressure]', 'tubingPressure'])(
    'lets no other field than a pressure be null: %s',
    async (nullable) => {
      const refusal = await refusalOfFile(`export: { nullable: ${nullable} }`);
      expect(refusal).toContain('export.nullable');
      if (nullable.startsWith('['))
        expect(refusal).toContain('must be one of tubingPressure, casingPressure: a record');
    },
  );

  test.each([
    ['oilrate: m3/d', 'units.oilrate', 'is no field with a unit: did you mean oilRate?'],
    ['downtimeCode: h', 'units.downtimeCode', 'is no field with a unit'],
    ['oilRate: ""', 'units.oilRate', 'must be the name of a unit'],
    ['oilRate: " bbl/d"', 'units.oilRate', 'must be the name of a unit'],
    ['oilRate: "bbl\\nd"', 'units.oilRate', 'must be the name of a unit'],
    ['oilRate: "bbl\\u202Ed"', 'units.oilRate', 'must be the name of a unit'],
    [`oilRate: ${'x'.repeat(41)}`, 'units.oilRate', 'at most 40 characters'],
    ['oilRate: 6.29', 'units.oilRate', 'must be a text, such as m3/d, or unknown'],
    ['oilRate: null', 'units.oilRate', 'must be a text, such as m3/d, or unknown'],
    ['oilRate: [bbl]', 'units.oilRate', 'must be a text, such as m3/d, or unknown'],
    ['downtimeHours: min', 'units.downtimeHours', 'must be h or unknown'],
  ])('refuses units that make no sense, with the line: %s', async (line, setting, words) => {
    const refusal = await refusalOfFile(`timeZone: UTC\nunits:\n  gasRate: m3/d\n  ${line}\n`);
    expect(refusal).toContain(`${setting} (`);
    expect(refusal).toContain('wellsync.yaml, line 4): ');
    expect(refusal).toContain(words);
  });

  test('refuses another basis of rates, and units that are no names, each with its line', async () => {
    const refusal = await refusalOfFile('export:\n  lookback: 7\n  rateBasis: weekly\nunits: bbl\n');
    expect(refusal).toMatch(
      /export\.rateBasis \(.*wellsync\.yaml, line 3\): must be one of calendar-day, operated-day/,
    );
    expect(refusal).toMatch(/units \(.*wellsync\.yaml, line 4\): must be settings by name/);
  });

  test('takes units by field, and unknown ones', async () => {
    const file = await written('units.yaml', 'units: { oilRate: m3/d, tubingPressure: unknown, espVibration: mm/s }');
    expect(loadConfig({ environment: { WELLSYNC_CONFIG: file } }).units).toEqual({
      oilRate: 'm3/d',
      tubingPressure: 'unknown',
      espVibration: 'mm/s',
    });
  });

  test('with names that are nearly settings says which may be meant, and does not show values', async () => {
    const refusal = await refusalOfFile(
      'service:\n  urll: https://secret\n  retry: { attempt: 2 }\ntimezone: UTC\nzzz: 1\n',
    );
    expect(refusal).toContain('is not a setting of wellsync: did you mean service.url?');
    expect(refusal).toContain('is not a setting of wellsync: did you mean service.retry.attempts?');
    expect(refusal).toContain('is not a setting of wellsync: did you mean timeZone?');
    expect(refusal).toMatch(/zzz .*: is not a setting of wellsync$/m);
    expect(refusal).not.toContain('secret');
  });

  test('with thousands of unknown names lists the first ones', async () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `x${index}: 1`);
    const { issues } = refusalOf({ WELLSYNC_CONFIG: await written('many.yaml', names.join('\n')) });
    expect(issues.length).toBeLessThan(60);
    expect(issues.at(-1)).toMatch(/^and \d+ more$/);
  });

  test.each([
    ['/dev/zero', 'it is no regular file'],
    ['FIFO', 'it is no regular file'],
    ['FOLDER', 'it is a folder'],
    ['LARGE', 'it has 1,048,577 bytes, and may have 1,048,576'],
    ['nowhere.yaml', 'there is no such file'],
  ])('at %s is refused at once', async (name, words) => {
    const file = name.startsWith('/') ? name : path.join(folder, name);
    if (name === 'FIFO') execFileSync('mkfifo', [file]);
    if (name === 'FOLDER') await mkdir(file);
    if (name === 'LARGE') await writeFile(file, '#'.repeat(1024 * 1024 + 1));
    expect(refusalOf({ WELLSYNC_CONFIG: file }).message).toContain(words);
  });
});

describe('variables of the environment', () => {
  test.each([
    ['WELLSYNC_SERVIC_URL', 'WELLSYNC_SERVICE_URL'],
    ['WELLSYNC_WAREHOSE', 'WELLSYNC_WAREHOUSE'],
    ['WELLSYN_CONFIG', 'WELLSYNC_CONFIG'],
  ])('%s is refused, since %s may be meant', (given, meant) => {
    expect(refusalOf({ [given]: 'secret' }).issues).toEqual([
      `${given} is no variable of wellsync: did you mean ${meant}?`,
    ]);
  });

  test.each(['WELLSYNC_SERVICE_HOST', 'WELLSYNC_SERVICE_PORT', 'WELLSYNC_PORT_8080_TCP_ADDR', 'WELLSYNC_TEST_RUNS'])(
    '%s may be set by others',
    (name) => {
      expect(loadConfig({ environment: { [name]: 'x' } }).timeZone).toBe('UTC');
    },
  );
});

describe('the password of Redis from a file', () => {
  const url = 'redis://wells@127.0.0.1:6379/2';

  test('stands in the address of every connection, whatever characters it has', async () => {
    const file = await written('redis', 'a%b@c/d:é?#\n');
    const { redis } = loadConfig({ environment: { WELLSYNC_REDIS_URL: url, WELLSYNC_REDIS_PASSWORD_FILE: file } });
    const { username, password, host, pathname } = new URL(redis !== undefined && 'url' in redis ? redis.url : '');
    expect([username, decodeURIComponent(password), host, pathname]).toEqual([
      'wells',
      'a%b@c/d:é?#',
      '127.0.0.1:6379',
      '/2',
    ]);
  });

  test.each([
    ['empty', '\n', 'is empty'],
    ['absent', undefined, 'cannot be read: there is no such file'],
  ])('is refused where the file is %s', async (name, content, words) => {
    const file = content === undefined ? path.join(folder, name) : await written(name, content);
    const refusal = refusalOf({ WELLSYNC_REDIS_URL: url, WELLSYNC_REDIS_PASSWORD_FILE: file });
    expect(refusal.message).toContain(`the password file of Redis ${file} ${words}`);
  });

  test('is refused beside a password in the address', () => {
    const environment = { WELLSYNC_REDIS_URL: 'redis://:secret@127.0.0.1', WELLSYNC_REDIS_PASSWORD_FILE: '/run/redis' };
    const [issue] = refusalOf(environment).issues;
    expect(issue).toContain('redis.passwordFile (WELLSYNC_REDIS_PASSWORD_FILE): redis.url holds a password already');
    expect(issue).not.toContain('secret');
  });
});
