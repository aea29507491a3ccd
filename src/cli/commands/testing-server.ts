/** `wellsync testing-server`: serves the endpoints locally until it is stopped. */
import { once } from 'node:events';
import { InvalidArgumentError } from 'commander';
import { UsageError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/text.ts';
import { exitCodes } from '../../core/run/exit-code.ts';
import type { DailySource } from '../../testing-server/data/daily-source.ts';
import type { TestingServer } from '../../testing-server/testing-server.ts';
import { type Call, collected, type Numbers, type ProgramCommand, type Texts } from '../command.ts';
import type { Output } from '../output.ts';
import { listenForStop } from '../process/stop-signals.ts';
import type { ServerFlags } from './testing-server-options.ts';

/** The help lists the options of the server's schema, which loads slowly: it is loaded only for a help request. */
export async function addTestingServerCommand(program: ProgramCommand, argv: readonly string[]): Promise<void> {
  const optionNames = isHelp(argv) ? (await import('./testing-server-options.ts')).optionList() : '';
  program
    .command('testing-server')
    .description('serve the endpoints of the Production Data Service locally, from memory')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on; 0 takes any free one', wholeNumber, 4010)
    .option('--daily <file>', 'serve daily production from NDJSON: uwi and the fields of DailyProduction, a row a line')
    .option('--seed <number>', 'seed of the generated field and of everything that is drawn', wholeNumber)
    .option('--wells <count>', 'wells of the generated field', wholeNumber)
    .option('--from <day>', 'first day of the generated field, by default 2021-01-01')
    .option('--to <day>', 'the day after its last, by default 2024-01-01')
    .option('--page-base <0|1>', 'number of the first page', wholeNumber)
    .option('--default-limit <rows>', 'rows of a page when no limit is sent', wholeNumber)
    .option('--max-limit <rows>', 'largest limit that is granted', wholeNumber)
    .option('--latency-ms <ms>', 'delay before every request is handled', wholeNumber)
    .option('--fault <name=rate>', 'share of requests that end in this fault; may be given more than once', collected)
    .option('--option <name=value>', 'any option of the list below; may be given more than once', collected)
    .explained(`\n${optionNames}\n${tokenRemark}\n`, commandExamples)
    .runs(serve);
}

const tokenRemark = `
Set WELLSYNC_TESTING_TOKEN to have every request under /api carry that token, and
every change under /testing, which is for this machine alone.
Outside /api, /testing/state shows what it has, /testing/requests what it was
asked.`;

const commandExamples = [
  'wellsync testing-server --wells 50 --from 2020-01-01 --to 2025-01-01',
  'wellsync testing-server --daily volve.ndjson --page-base 0 --max-limit 500',
  'wellsync testing-server --fault unavailable=0.05 --fault tooManyRequests=0.02 --option order=shuffled',
];

function isHelp(argv: readonly string[]): boolean {
  return argv.includes('testing-server') && argv.some((word) => ['-h', '--help', 'help'].includes(word));
}

function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

type TestingServerFlags = ServerFlags & Texts<'daily' | 'from' | 'to'> & Numbers<'wells'>;

async function serve({ options, environment, output }: Call<TestingServerFlags>): Promise<void> {
  const { startTestingServer } = await import('../../testing-server/testing-server.ts');
  const { serverOptions } = await import('./testing-server-options.ts');
  const setup = serverOptions(options, environment['WELLSYNC_TESTING_TOKEN']);
  const data = await dailySource(options);
  using stop = listenForStop(exitCodes.done);
  await using server = await listening(startTestingServer({ ...setup, data }), options.port);
  await announce(server, data, output);
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
}

/** Throws UsageError for a file that cannot be served, or a field that cannot be generated. */
async function dailySource({ daily, seed, wells, from, to }: TestingServerFlags): Promise<DailySource> {
  const { DailyFileError, loadDailyFile } = await import('../../testing-server/data/daily-source.ts');
  const { generatedDaily, generatedFieldSchema } = await import('../../testing-server/data/generated-daily.ts');
  const { checkedBy } = await import('./testing-server-options.ts');
  if (daily === undefined) {
    const flags = { seed: '--seed', wells: '--wells', fromDay: '--from', toDay: '--to' };
    return generatedDaily(checkedBy(generatedFieldSchema, { seed, wells, fromDay: from, toDay: to }, flags));
  }
  if (wells !== undefined || from !== undefined || to !== undefined) {
    throw new UsageError('--daily serves a file: --wells, --from and --to are of a generated field');
  }
  try {
    return await loadDailyFile(daily);
  } catch (error) {
    if (error instanceof DailyFileError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

async function listening(starting: Promise<TestingServer>, port: number): Promise<TestingServer> {
  try {
    return await starting;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall !== 'listen' && syscall !== 'getaddrinfo') throw error;
    const reason = code === 'EADDRINUSE' ? 'something uses that port already' : code;
    throw new UsageError(`the testing server cannot listen on port ${port}: ${reason}`, {
      hint: 'Give another --port or --host; --port 0 takes any free one.',
      cause: error,
    });
  }
}

async function announce({ url, port }: TestingServer, data: DailySource, output: Output): Promise<void> {
  const { dailyProductionPath } = await import('../../testing-server/api/api.ts');
  const wells = data.uwis.length;
  const [uwi = ''] = data.uwis;
  const rows = data.uwis.reduce((sum, each) => sum + data.rowCount(each), 0);
  await output.print(
    [
      `The testing server runs at ${url}`,
      `and serves ${counted(rows, 'row')} of daily production of ${counted(wells, 'well')}. Ctrl-C ends it.`,
      '',
      `  curl "${url}${dailyProductionPath(uwi)}?limit=3"`,
      `  curl ${url}/testing/state`,
      `  WELLSYNC_SERVICE_URL=${url} wellsync export daily-production --uwi "${uwi}" --inline`,
    ].join('\n'),
    { url, port, wells, statePath: '/testing/state' },
  );
}
