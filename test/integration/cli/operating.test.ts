/** The lines of docs/operating.md, run as they are written, under the empty environment that cron and systemd give. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { cliHome, type CliHome, program } from '../../support/cli.ts';
import type { CommandResult } from '../../support/command-result.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const guide = readFileSync('docs/operating.md', 'utf8');
const documentedConfig = '/etc/wellsync/wellsync.yaml';

/** The content of the code blocks of a language. */
function blocksOf(language: string): readonly string[] {
  return [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block);
}

interface CronTable {
  readonly variables: Readonly<Record<string, string>>;
  readonly commands: readonly string[];
}

function cronTable(): CronTable {
  const lines = (blocksOf('crontab')[0] ?? '').split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const variables = lines.flatMap((line) => {
    const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? [];
    return name === '' ? [] : [[name, value] as const];
  });
  const commands = lines.flatMap((line) => /^(?:[\d*/,-]+\s+){5}(.*)$/.exec(line)?.[1] ?? []);
  return { variables: Object.fromEntries(variables), commands };
}

/** The configuration of a home in the place of the documented one, and the program on the PATH in place of an installed one. */
async function installed(serviceUrl: string): Promise<CliHome> {
  const home = await cliHome();
  const { WELLSYNC_REDIS_URL: url, WELLSYNC_QUEUE_PREFIX: prefix } = home.env;
  const settings = { service: { url: serviceUrl }, redis: { url }, queue: { prefix }, dataDir: 'data' };
  await home.write('wellsync.yaml', stringify({ ...settings, export: { wells: [UWI] } }));
  await mkdir(path.join(home.folder, 'bin'));
  await mkdir(path.join(home.folder, 'home-of-cron'));
  const wrapper = await home.write('bin/wellsync', `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`);
  await chmod(wrapper, 0o755);
  return home;
}

function runUnderCron(command: string, variables: CronTable['variables'], home: CliHome): Promise<CommandResult> {
  const set = { ...variables, PATH: `${home.folder}/bin:${variables['PATH'] ?? '/usr/bin:/bin'}` };
  const environment = Object.entries(set).map(
    ([name, value]) => `${name}=${value.replace(documentedConfig, `${home.folder}/wellsync.yaml`)}`,
  );
  const cwd = path.join(home.folder, 'home-of-cron');
  const args = ['-i', `HOME=${cwd}`, 'LOGNAME=cron', 'SHELL=/bin/sh', ...environment, '/bin/sh', '-c', command];
  return new Promise((resolve) => {
    const child = execFile('env', args, { cwd }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : (child.exitCode ?? -1), stdout, stderr });
    });
  });
}

test('the lines of the crontab work as written, mail nothing on a good night, and leave nothing in the home folder', async () => {
  await using server = await startWithTenDays();
  await using home = await installed(server.url);
  const { variables, commands } = cronTable();
  expect(commands).toHaveLength(3);
  const first = await runUnderCron(commands[0] ?? '', variables, home);
  expect(first).toMatchObject({ code: 0, stdout: '' });
  expect(first.stderr).toMatch(/^There is no warehouse yet: a new one is made at duckdb:\S+\n$/);
  for (const command of commands) {
    expect(await runUnderCron(command, variables, home), command).toEqual({ code: 0, stdout: '', stderr: '' });
  }
  expect(existsSync(`${home.folder}/data/warehouse.duckdb`)).toBe(true);
  expect(existsSync(`${home.folder}/home-of-cron/wellsync-data`)).toBe(false);
});

test('a night with the service down mails what happened and what to do', async () => {
  await using home = await installed('http://127.0.0.1:1');
  const { variables, commands } = cronTable();
  const { code, stdout, stderr } = await runUnderCron(commands[0] ?? '', variables, home);
  expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
  expect(stderr).toMatch(/^wellsync: the service at http:\/\/127\.0\.0\.1:1 cannot be reached: .+\n.+\n$/);
});

test('the unit of systemd starts the line of the crontab, with its configuration', () => {
  const unit = readFileSync('deploy/systemd/wellsync-export.service', 'utf8');
  const { variables, commands } = cronTable();
  const started = /^ExecStart=\/usr\/local\/bin\/(.*)$/m.exec(unit)?.[1];
  expect(commands).toContain(started);
  expect(unit).toContain(`Environment=WELLSYNC_CONFIG=${variables['WELLSYNC_CONFIG'] ?? ''}`);
});

test('the configuration of the guide has only settings that there are', async () => {
  await using home = await cliHome('http://127.0.0.1:1');
  const config = await home.write('guide.yaml', (blocksOf('yaml')[0] ?? '').replace('/var/lib/wellsync', home.folder));
  const { stdout } = await home.here(['doctor', '--config', config]);
  expect(stdout).not.toContain('has a fault');
});

test('the README names when not to use it, and has the line of the crontab', () => {
  const readme = readFileSync('README.md', 'utf8');
  expect(readme).toContain(cronTable().commands[0]);
  expect(readme.slice(0, readme.indexOf('## '))).toContain('When not to use it');
  expect(readme).toContain('docs/operating.md');
});
