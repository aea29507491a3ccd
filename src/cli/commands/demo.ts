/** `wellsync demo`: every job on the data of a testing server, into a new folder. Each is the command that a person would give. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { WellsyncError, UsageError } from '../../core/base/errors.ts';
import { fileReason } from '../../core/base/file-fault.ts';
import { figure, listed } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { TestingServer } from '../../testing-server/testing-server.ts';
import type { Call, Flags, ProgramCommand, Texts } from '../command.ts';
import { listenForStop, type StopSignals } from '../process/stop-signals.ts';
import { programWords, shellWord } from '../output.ts';

export function addDemoCommand(program: ProgramCommand): void {
  program
    .command('demo')
    .description('run every job on the data of a local testing server, into a new folder')
    .option('--folder <folder>', 'where its files go', 'wellsync-demo')
    .option('--stay', 'then serve the console until Ctrl-C')
    .explained(explanation, ['wellsync demo', 'wellsync demo --stay'])
    .runs(showDemo);
}

const explanation = `
It needs no service, no Redis and no configuration, and takes settings of none. It
ends with 0 when all that the testing server has is in the warehouse, and all that
was pushed and deleted has arrived.
`;

/** A well whose last day is long ago counts as stale: the field ends yesterday. */
const generated = { seed: 7, wells: 24, years: 3 };

/** Marks a folder of an earlier demo, whose files may be replaced. */
const marker = 'wellsync-demo.txt';

class DemoError extends WellsyncError {
  override readonly name = 'DemoError';

  constructor(message: string) {
    super('demo-differs', message, { hint: 'Please report it with the output above.' });
  }
}

type DemoFlags = Flags<'stay'> & Texts<'folder'>;

async function showDemo({ options, output }: Call<DemoFlags>): Promise<ExitCode> {
  const { startTestingServer } = await import('../../testing-server/testing-server.ts');
  const { generatedDaily } = await import('../../testing-server/data/generated-daily.ts');
  using stop = listenForStop(exitCodes.cancelled);
  const folder = path.resolve(options.folder ?? 'wellsync-demo');
  await makeFolder(folder);
  const toDay = new Date().toISOString().slice(0, 10);
  const fromDay = `${Number(toDay.slice(0, 4)) - generated.years}-01-01`;
  const data = generatedDaily({ seed: generated.seed, wells: generated.wells, fromDay, toDay });
  await using server = await startTestingServer({ data });
  const demo = new Demo(folder, server, stop);
  const say = (line: string): void => output.writeError(line);
  const [well = ''] = data.uwis;
  const pipes = await demo.write('pipes.csv', pipesText);
  const wells = await demo.write('wells.csv', ['uwi', ...data.uwis.map(quoted), ''].join('\n'));

  say(`A testing server runs at ${server.url}: one push, one cleanup and two small exports go to it …\n`);
  for (const job of [
    ['push', 'network-pipes', pipes],
    ['export', 'wells', '--well', well],
    ['export', 'time-series', '--equipment', `EQ ${well}`],
  ]) {
    const code = await demo.run(job);
    if (code !== exitCodes.done) return code;
  }
  // The well produces: without the flag its targets would be refused.
  const planned = await demo.ask(['cleanup', 'micro-strings', '--well', well, '--include-producing', '--json']);
  const { planId } = JSON.parse(planned) as { readonly planId: string };
  const applied = await demo.run(['cleanup', '--apply', planId, '--yes']);
  if (applied !== exitCodes.done) return applied;
  say(`\nIt offers ${data.uwis.length} wells, from ${fromDay} on; exporting them …\n`);
  const code = await demo.run(['export', 'daily-production', '--wells', wells]);
  if (code !== exitCodes.done) return code;
  const summary = await demo.compare();
  const isStaying = options.stay === true;
  await output.print(summaryText(demo, summary, isStaying), { folder, warehouse: demo.warehouse, ...summary });
  return isStaying ? await demo.stay(say) : exitCodes.done;
}

interface Summary {
  readonly rows: number;
  readonly wells: number;
  readonly oil: number;
  readonly firstDay: string;
  readonly lastDay: string;
}

const summaryQuery = `SELECT count(*)::INTEGER AS rows, count(DISTINCT uwi)::INTEGER AS wells, sum(oil_rate) AS oil,
  min(production_day)::VARCHAR AS "firstDay", max(production_day)::VARCHAR AS "lastDay" FROM daily_production`;

class Demo {
  readonly folder: string;
  readonly warehouse: string;
  readonly #server: TestingServer;
  readonly #stop: StopSignals;

  constructor(folder: string, server: TestingServer, stop: StopSignals) {
    this.folder = folder;
    this.warehouse = path.join(folder, 'warehouse.duckdb');
    this.#server = server;
    this.#stop = stop;
  }

  async write(name: string, content: string): Promise<string> {
    const file = path.join(this.folder, name);
    await writeFile(file, content);
    return file;
  }

  /** The exit code of a command, whose words are for the person. */
  async run(args: readonly string[]): Promise<ExitCode> {
    const child = this.#start(args, 'inherit');
    const [code] = (await once(child, 'exit')) as [number | null];
    return (code ?? exitCodes.cancelled) as ExitCode;
  }

  /** What a command prints. Throws DemoError where it did not end well: its words are above. */
  async ask(args: readonly string[]): Promise<string> {
    const child = this.#start(args, 'pipe');
    const [printed, [code]] = await Promise.all([
      child.stdout === null ? '' : text(child.stdout),
      once(child, 'exit') as Promise<[number | null]>,
    ]);
    if (code === exitCodes.done) return printed;
    throw new DemoError(`wellsync ${args.slice(0, 2).join(' ')} ended with ${code ?? 'a signal'}`);
  }

  #start(args: readonly string[], stdout: 'inherit' | 'pipe') {
    // A person's own settings must not lead it to a real warehouse or a real service.
    const neutral = Object.entries(process.env).filter(([name]) => !name.startsWith('WELLSYNC_'));
    const env = {
      ...Object.fromEntries(neutral),
      WELLSYNC_SERVICE_URL: this.#server.url,
      WELLSYNC_DATA_DIR: this.folder,
    };
    const program = process.argv[1] ?? '';
    const child = spawn(process.execPath, [program, ...args], {
      cwd: this.folder,
      env,
      stdio: ['ignore', stdout, 'inherit'],
    });
    const stop = (): void => {
      // Ctrl-C at a terminal has reached it too.
      if (!process.stdin.isTTY || this.#stop.first !== 'SIGINT') child.kill('SIGTERM');
    };
    const { signal } = this.#stop;
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    return child;
  }

  /** Compares what the testing server has with what has arrived. Throws DemoError where any sum differs. */
  async compare(): Promise<Summary> {
    const [summary] = JSON.parse(await this.ask(['query', summaryQuery, '--json'])) as readonly Summary[];
    const { daily } = this.#server.state;
    const expected = { rows: daily.rowCount(), wells: daily.uwis().length, oil: this.#oilOfServer() };
    if (summary === undefined) throw new DemoError('the warehouse has no answer');
    const { rows, wells, oil } = summary;
    const isSame = rows === expected.rows && wells === expected.wells && isEqualSum(oil, expected.oil);
    if (!isSame) {
      const has = JSON.stringify(expected);
      throw new DemoError(`the warehouse has ${JSON.stringify({ rows, wells, oil })}, and the testing server ${has}`);
    }
    this.#comparePipes();
    const [well = ''] = this.#server.state.daily.uwis();
    const deletions = this.#server.state.deletions().map(({ kind, ownerId }) => `${kind} of ${ownerId}`);
    if (deletions.join() !== `micro-string of ${well}`) {
      throw new DemoError(`the testing server was told to delete ${listed(deletions)}`);
    }
    return summary;
  }

  /** Each with its length and diameter, as numbers. */
  #comparePipes(): void {
    const arrived = this.#server.state.pipes().map(({ raw }) => {
      const { sourceId, length, innerDiameter } = JSON.parse(raw) as Readonly<Record<string, unknown>>;
      return JSON.stringify([sourceId, length, innerDiameter]);
    });
    const sent = pipes.map((row) => {
      const [, sourceId, , , , length, innerDiameter] = row.split(',');
      return JSON.stringify([sourceId, JSON.parse(length ?? ''), JSON.parse(innerDiameter ?? '')]);
    });
    if (arrived.toSorted().join() !== sent.toSorted().join()) {
      throw new DemoError(`the testing server has the pipes ${arrived.join()}, and ${sent.join()} were pushed`);
    }
  }

  #oilOfServer(): number {
    const { daily } = this.#server.state;
    const rows = daily.uwis().flatMap((uwi) => daily.rows(uwi)?.rows() ?? []);
    return rows.reduce((sum, { text: row }) => sum + (JSON.parse(row) as { readonly oilRate: number }).oilRate, 0);
  }

  /** Serves the console until Ctrl-C, which is its usual end. */
  async stay(say: (line: string) => void): Promise<ExitCode> {
    say('Open the address below in a browser.\n');
    const code = await this.run(['serve', '--port', '0']);
    return this.#stop.signal.aborted ? exitCodes.done : code;
  }
}

/** Sums of doubles in another order. */
function isEqualSum(left: number, right: number): boolean {
  return Math.abs(left - right) <= 1e-9 * Math.abs(right);
}

/** A new folder, or that of an earlier demo without its files. */
async function makeFolder(folder: string): Promise<void> {
  const isOurs = existsSync(path.join(folder, marker));
  const has = existsSync(folder) ? (statSync(folder).isDirectory() ? readdirSync(folder) : [folder]) : [];
  if (has.length > 0 && !isOurs) {
    throw new UsageError(`${folder} is something else, or has files of it`, {
      hint: 'Name another one by --folder: the demo writes into a new one.',
    });
  }
  try {
    if (isOurs) await rm(folder, { recursive: true });
    // Not with `recursive`: Node retries for ever where none can be made, as in /proc.
    if (!existsSync(folder)) await mkdir(folder);
    await writeFile(
      path.join(folder, marker),
      'Files of wellsync demo: the next demo into this folder replaces them.\n',
    );
  } catch (error) {
    const reason = fileReason(error);
    throw new UsageError(`the folder ${folder} cannot be made: ${reason}`, {
      hint: 'Name another one by --folder, in a folder that is there and may be written to.',
    });
  }
}

const quoted = (uwi: string): string => `"${uwi.replaceAll('"', '""')}"`;

const pipes = [
  'field,flowline 1,manifold A,separator,true,[120.5],[0.1524]',
  'field,flowline 2,manifold B,separator,true,[80],[0.1524]',
];

const pipesText = [
  'sourceNetworkId,sourceId,upstreamSourceId,downstreamSourceId,enabled,length,innerDiameter',
  ...pipes,
  '',
].join('\n');

const question =
  'SELECT uwi, round(sum(downtime_hours) / 24) AS days_down, round(sum(downtime_hours / 24 * usual_rate)) AS oil_lost, ' +
  'mode(downtime_code) AS main_cause FROM (SELECT *, avg(oil_rate) FILTER (WHERE downtime_hours = 0) OVER (PARTITION BY uwi) ' +
  'AS usual_rate FROM daily_production) GROUP BY uwi ORDER BY oil_lost DESC LIMIT 5';

function summaryText({ warehouse }: Demo, { rows, wells, firstDay, lastDay }: Summary, isStaying: boolean): string {
  const here = `--warehouse ${shellWord(`duckdb:${path.relative(process.cwd(), warehouse)}`)}`;
  const wellsync = programWords();
  const inBrowser = isStaying
    ? ''
    : `
  # All of it in a browser:
  ${wellsync} demo --stay
`;
  return `
The production of ${wells} wells is in the warehouse, as the testing server has it.

  rows       ${figure(rows)}
  days       ${firstDay} to ${lastDay}
  warehouse  ${path.relative(process.cwd(), warehouse)}

Commands to try next:

  # Which wells lost the most oil to downtime, and to what?
  ${wellsync} query ${here} "${question}"

  # What was read, and is it reconciled?
  ${wellsync} runs list ${here}
${inBrowser}`;
}
