import { once } from 'node:events';
import { UsageError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { dailyProductionPath } from '../../testing-server/api/api.ts';
import { DailyFileError, type DailySource, loadDailyFile } from '../../testing-server/data/daily-source.ts';
import { generatedDaily, generatedFieldSchema } from '../../testing-server/data/generated-daily.ts';
import { startTestingServer, type TestingServer } from '../../testing-server/testing-server.ts';
import type { Invocation } from '../commands/command-line.ts';
import type { Output } from '../output.ts';
import { listenForStop } from '../process/stop-signals.ts';
import { checkedBy, type ServerFlags, serverOptions } from './testing-server-options.ts';

export interface TestingServerFlags extends ServerFlags {
  readonly daily?: string;
  readonly wells?: number;
  readonly from?: string;
  readonly to?: string;
}

export async function serve({ options, environment, output }: Invocation<TestingServerFlags>): Promise<ExitCode> {
  const setup = serverOptions(options, environment['WELLSYNC_TESTING_TOKEN']);
  const data = await dailySource(options);
  using stop = listenForStop(exitCodes.done);
  await using server = await listening(startTestingServer({ ...setup, data }), options.port);
  await announce(server, data, output);
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
  return exitCodes.done;
}

/** Throws UsageError for a file that cannot be served, or a field that cannot be generated. */
async function dailySource({ daily, seed, wells, from, to }: TestingServerFlags): Promise<DailySource> {
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
  const wells = data.uwis.length;
  if (output.json) {
    await output.document({ url, port, wells, statePath: '/testing/state' });
    return;
  }
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
  );
}
