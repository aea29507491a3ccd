/** `wellsync init`: writes a first configuration from a few answers, checks it, and names the command of the first export. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { loadConfig } from '../../../config/load.ts';
import { AbortedError, UsageError } from '../../core/base/errors.ts';
import { fileReason } from '../../core/base/file-fault.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { Call, type Flags, type ProgramCommand, type Texts } from '../command.ts';
import { isAtTerminal, Questions } from '../process/operator.ts';
import { programWords, shellWord } from '../output.ts';

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
  /** The settings that an answer makes: what is wrong with them is told before the next question. */
  readonly settings?: (answer: string) => Parameters<typeof checked>[0];
  /** Whether an answer is the path of a file that is there. */
  readonly isFile?: boolean;
}

async function initialise(call: Call<InitFlags>): Promise<ExitCode> {
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
  // What is wrong with a flag is told before anything is written.
  await checked(settingsOf({ ...answers, service }));
  for (const named of [answers.tokenFile, answers.wells]) {
    if (named !== undefined && !existsSync(named))
      throw new UsageError(`there is no file ${named}: nothing was written`);
  }
  const written = settingsText({ ...answers, service });
  await makeFolder(path.dirname(file));
  await writeFile(file, written, { mode: 0o600 });
  // One that was there keeps its mode.
  await chmod(file, 0o600);
  output.writeError(`Written to ${file}:\n\n${written}`);
  const examined = new Call<object>({ output, environment, stdin } as ConstructorParameters<typeof Call>[0], {
    options: { ...options, config: file },
    args: [],
    layout,
  });
  const code = await examine(examined);
  if (code !== exitCodes.done) return code;
  const first = `${programWords()} export daily-production${answers.wells === undefined ? ' --uwi UWI' : ''}`;
  output.writeError(`\nThe first export, of the whole history:\n\n  ${first} --config ${shellWord(file)}`);
  return exitCodes.done;
}

async function checked(flags: NonNullable<Parameters<typeof loadConfig>[0]['flags']>): Promise<void> {
  const { loadConfig: load } = await import('../../../config/load.ts');
  load({ environment: {}, flags, file: null });
}

/** Not with `recursive`: Node retries for ever where none can be made, as in /proc. */
async function makeFolder(folder: string): Promise<void> {
  if (existsSync(folder)) return;
  await makeFolder(path.dirname(folder));
  await mkdir(folder).catch((error: unknown) => {
    throw new UsageError(`the folder ${folder} cannot be made: ${fileReason(error)}`, {
      hint: 'Name another file by --config.',
    });
  });
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
  using questions = isAtTerminal(call) ? new Questions(call) : undefined;
  const answerTo = async (question: Question): Promise<string | undefined> => {
    const { words, given, usual } = question;
    if (given !== undefined || questions === undefined) return given ?? usual;
    for (;;) {
      const answer = await questions.ask(`${words}${usual === undefined ? '' : ` [${usual}]`}: `);
      if (answer === undefined) throw new AbortedError('not answered: nothing was written');
      if (answer === '') return usual;
      const fault = await faultOfAnswer(question, answer);
      if (fault === undefined) return answer;
      call.output.writeError(fault);
    }
  };
  const absolute = (given: string | undefined): string | undefined =>
    given === undefined || given === '' ? undefined : path.resolve(given);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return {
    service: await answerTo({
      words: 'Address of the Production Data Service',
      given: options.serviceUrl ?? environment['WELLSYNC_SERVICE_URL'],
      settings: (url) => ({ service: { url } }),
    }),
    tokenFile: absolute(
      await answerTo({ words: 'File with its token (empty for none)', given: options.tokenFile, isFile: true }),
    ),
    wells: absolute(
      await answerTo({
        words: 'CSV file of wells with the column uwi (empty for none)',
        given: options.wells,
        isFile: true,
      }),
    ),
    dataDir: path.resolve(
      (await answerTo({ words: 'Folder for its files', given: options.dataDir, usual: 'wellsync-data' })) ?? '',
    ),
    warehouse: await answerTo({
      words: 'Warehouse, duckdb:PATH or postgres://USER@HOST/DATABASE (empty for a DuckDB file in that folder)',
      given: options.warehouse,
      settings: (url) => ({ warehouse: { url } }),
    }),
    timeZone:
      (await answerTo({
        words: 'Time zone of the production day',
        given: options.timeZone,
        usual: zone,
        settings: (timeZone) => ({ timeZone }),
      })) ?? zone,
  };
}

async function faultOfAnswer({ settings, isFile }: Question, answer: string): Promise<string | undefined> {
  if (isFile === true && !existsSync(answer)) return `There is no file ${path.resolve(answer)}.`;
  try {
    if (settings !== undefined) await checked(settings(answer));
    return undefined;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return error.issues.length > 0 ? error.issues.join('\n') : error.message;
  }
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
