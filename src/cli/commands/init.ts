/** `wellsync init`: writes a first configuration from a few answers, checks it, and names the command of the first export. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../../core/base/errors.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { Call, type Flags, type Texts } from '../call.ts';
import type { ProgramCommand } from '../command.ts';
import { questionAt } from '../process/operator.ts';

export function addInitCommand(program: ProgramCommand): void {
  program
    .command('init')
    .description('write a first configuration, check it, and say how to begin')
    .option('--token-file <file>', 'a file with the token of the service')
    .option('--wells <file>', 'a CSV file with the column uwi')
    .option('--time-zone <zone>', 'decides the calendar day of a row, such as Europe/Oslo')
    .option('--force', 'replace the configuration file that is there')
    .explained(explanation, [
      'wellsync init',
      'wellsync init --service-url https://pds.example.com --token-file token --wells wells.csv --time-zone Europe/Oslo',
    ])
    .runs(initialise);
}

const explanation = `
It asks for what no flag names, and takes what is usual where nobody can be asked.
The file is that of --config, by default wellsync.yaml. Paths in it are absolute:
cron starts elsewhere than your shell.
`;

type InitFlags = Flags<'force'> & Texts<'tokenFile' | 'wells' | 'timeZone'>;

interface Question {
  readonly words: string;
  readonly given: string | undefined;
  /** Where nothing is answered. */
  readonly usual?: string;
}

async function initialise(call: Call<InitFlags>): Promise<ExitCode> {
  const { loadConfig } = await import('../../../config/load.ts');
  const { examine } = await import('./doctor.ts');
  const { options, output, environment, stdin, layout } = call;
  const file = path.resolve(options.config ?? 'wellsync.yaml');
  if (existsSync(file) && options.force === undefined) {
    throw new UsageError(`the configuration ${file} is there already: nothing was written`, {
      action: { kind: 'overwrite' },
    });
  }
  const answers = await answersOf(call);
  const { service } = answers;
  if (service === undefined) {
    throw new UsageError('the address of the service is not known', {
      action: { kind: 'set-setting', setting: 'service.url' },
    });
  }
  // What is wrong with an answer is told before anything is written.
  loadConfig({ environment: {}, flags: settingsOf({ ...answers, service }) });
  const written = settingsText({ ...answers, service });
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, written, { mode: 0o600 });
  output.writeError(`Written to ${file}:\n\n${written}`);
  const checked = new Call<object>({ output, environment, stdin } as ConstructorParameters<typeof Call>[0], {
    options: { ...options, config: file },
    args: [],
    layout,
  });
  const code = await examine(checked);
  if (code !== exitCodes.done) return code;
  const first =
    answers.wells === undefined ? 'wellsync export daily-production --uwi UWI' : 'wellsync export daily-production';
  output.writeError(`\nThe first export, of the whole history:\n\n  ${first} --config ${file}`);
  return exitCodes.done;
}

interface Answers {
  readonly service: string | undefined;
  readonly tokenFile: string | undefined;
  readonly wells: string | undefined;
  readonly warehouse: string | undefined;
  readonly dataDir: string;
  readonly timeZone: string;
}

async function answersOf(call: Call<InitFlags>): Promise<Answers> {
  const { options, environment } = call;
  const ask = questionAt(call);
  const answerTo = async ({ words, given, usual }: Question): Promise<string | undefined> => {
    if (given !== undefined) return given;
    const answer = await ask?.(`${words}${usual === undefined ? '' : ` [${usual}]`}: `);
    return answer === undefined || answer === '' ? usual : answer;
  };
  const absolute = (given: string | undefined): string | undefined =>
    given === undefined ? undefined : path.resolve(given);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return {
    service: await answerTo({
      words: 'Address of the Production Data Service',
      given: options.serviceUrl ?? environment['WELLSYNC_SERVICE_URL'],
    }),
    tokenFile: absolute(await answerTo({ words: 'File with its token (empty for none)', given: options.tokenFile })),
    wells: absolute(
      await answerTo({ words: 'CSV file of wells with the column uwi (empty for none)', given: options.wells }),
    ),
    dataDir: path.resolve(
      (await answerTo({ words: 'Folder for its files', given: options.dataDir, usual: 'wellsync-data' })) ?? '',
    ),
    warehouse: await answerTo({
      words: 'Warehouse, duckdb:PATH or postgres://USER@HOST/DATABASE (empty for a DuckDB file in that folder)',
      given: options.warehouse,
    }),
    timeZone:
      (await answerTo({ words: 'Time zone of the production day', given: options.timeZone, usual: zone })) ?? zone,
  };
}

function settingsOf({ service, tokenFile, wells, warehouse, dataDir, timeZone }: Answers & { service: string }) {
  return {
    service: { url: service, tokenFile },
    dataDir,
    warehouse: { url: warehouse },
    export: { wellsFile: wells },
    timeZone,
  };
}

function settingsText({
  service,
  tokenFile,
  wells,
  warehouse,
  dataDir,
  timeZone,
}: Answers & { service: string }): string {
  const text = (value: string): string => JSON.stringify(value);
  const lines = [
    '# docs/operating.md has the rest of the settings, and every command --help.',
    'service:',
    `  url: ${text(service)}`,
    ...(tokenFile === undefined ? [] : [`  tokenFile: ${text(tokenFile)}`]),
    `dataDir: ${text(dataDir)}`,
    ...(warehouse === undefined ? [] : ['warehouse:', `  url: ${text(warehouse)}`]),
    ...(wells === undefined ? [] : ['export:', `  wellsFile: ${text(wells)}`]),
    `timeZone: ${text(timeZone)} # decides the calendar day of a row`,
  ];
  return `${lines.join('\n')}\n`;
}
