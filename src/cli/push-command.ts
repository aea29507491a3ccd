/** `wellsync push`: asks for a run that sends a file of network pipes, and leaves, follows or works it; or only looks. */
import path from 'node:path';
import { Option, type Command } from 'commander';
import type { Config } from '../../config/schema.ts';
import { networkPipesJobName, type NetworkPipesParams } from '../../jobs/network-pipes.ts';
import type { KnownPush } from '../warehouse/warehouse.ts';
import { sourceName } from '../pipes/content.ts';
import { readPipes } from '../pipes/read-pipes.ts';
import { Topology } from '../pipes/topology.ts';
import type { CarryOutParts } from './carry-out.ts';
import { actionOf, configOf, examples, wholeNumber, type Invocation, type Shell } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { carryOut, inlineOption, queueRun, waitOption } from './start-run.ts';
import { foldedHint } from './folded-text.ts';
import { installationFor, type Installation } from './installation.ts';
import { lookThroughPipes } from './pipes-dry-run.ts';
import { dropSource, pushSource, standardInput, type PushSource } from './pipes-source.ts';
import { checkBeforeWork } from './preflight.ts';
import { printLook } from './push-look.ts';
import { topologySentences } from './topology-words.ts';
import { bytesText, instantText } from './words.ts';
import { shownBaseUrl } from '../service/settings.ts';

interface PushOptions {
  readonly dryRun?: true;
  readonly checkTopology?: true;
  readonly again?: true;
  readonly chunkItems?: number;
  readonly long?: true;
  readonly wide?: true;
  readonly ignoreUnknownColumns?: true;
  readonly wait?: true;
  readonly inline?: true;
}

export function addPushCommand(program: Command, shell: Shell): void {
  const group = program.command('push').description('send data to the service');
  group
    .command('network-pipes')
    .argument('<file>', 'a CSV file, gzip or not; - is standard input')
    .description('send the network pipes of a CSV file to the bulk endpoint')
    .option('--dry-run', 'check everything, send nothing')
    .option('--check-topology', 'report duplicate pipes, self-loops, open and dead ends, unconnected parts')
    .option('--again', 'push a file again whose content has been pushed')
    .option('--chunk-items <count>', 'pipes in a request, at most', wholeNumber)
    .addOption(new Option('--long', 'one row a segment, consecutive rows make a pipe').conflicts('wide'))
    .option('--wide', 'one row a pipe')
    .option('--ignore-unknown-columns', 'leave columns aside that are no field of a pipe')
    .addOption(waitOption())
    .addOption(inlineOption())
    .addHelpText('after', explanation)
    .action(actionOf(shell, pushNetworkPipes));
}

const explanation = `
The first line names the columns: the ten fields of a pipe, in any order and
case (push.aliases in the configuration gives them other names). Array cells are
JSON arrays or lists with ";"; the long form is recognised by itself.

Of every pipe the last row of the file wins: an earlier one in the same request is
superseded and not sent, one in an earlier request is accepted and then replaced.
Rows that are wrong, and pipes that the service refuses, land in one rejects file,
with line, column and reason; the rest arrives. A file whose content has been pushed is not pushed again without
--again. The file must stay as it is, where workers can read it, until the run has
ended; standard input is kept in the data folder until then.

Exit codes
  0  done, or pushed before; without --wait or --inline: queued
  1  failed
  2  wrong use
  3  done, with rejected rows
  4  cancelled, or left by Ctrl-C before the end
  5  could not reach Redis, the warehouse or the service
${examples([
  'wellsync push network-pipes pipes.csv --dry-run --check-topology',
  'wellsync push network-pipes pipes.csv --wait',
  'zcat pipes.csv.gz | wellsync push network-pipes - --inline --json',
])}`;

async function pushNetworkPipes(invocation: Invocation<PushOptions>): Promise<ExitCode> {
  const config = configOf(invocation);
  return invocation.options.dryRun ? dryRun(invocation, config) : push(invocation, config);
}

function readingOf(options: PushOptions, config: Config): NetworkPipesParams['reading'] {
  const { delimiter, aliases, limits } = config.push;
  return {
    form: options.long ? 'long' : options.wide ? 'wide' : 'auto',
    delimiter,
    aliases,
    ignoreUnknownColumns: options.ignoreUnknownColumns ?? false,
    limits,
  };
}

function rejectsFolderOf(config: Config): string {
  return path.resolve(config.dataDir, 'rejects');
}

/** Needs neither service nor Redis nor warehouse. */
async function dryRun(invocation: Invocation<PushOptions>, config: Config): Promise<ExitCode> {
  const { options, output, args, stdin } = invocation;
  const [named = '-'] = args;
  const source = named === '-' ? { stream: stdin, name: standardInput } : { path: named };
  const atText = instantText(Date.now()).replaceAll(/[^\d]/g, '');
  const look = await lookThroughPipes(source, {
    reading: readingOf(options, config),
    chunkItems: options.chunkItems ?? config.push.chunkItems,
    chunkBytes: config.push.chunkBytes,
    rejectsFile: path.join(rejectsFolderOf(config), `dry-run-${atText}.csv`),
    withTopology: options.checkTopology ?? false,
  });
  return printLook(sourceName(source), look, output);
}

async function push(invocation: Invocation<PushOptions>, config: Config): Promise<ExitCode> {
  const { options, output, args, stdin } = invocation;
  const source = await pushSource(args[0] ?? '-', stdin, config.dataDir);
  let isTaken = false;
  try {
    await checkHeader(source, readingOf(options, config));
    await using installation = installationFor(config, output);
    const known = options.again ? undefined : await findKnown(source, options, config, installation);
    if (known !== undefined) return await tellKnown(known, source, { invocation, parts: { installation, output } });
    const notices = options.checkTopology ? await topologyOf(source, readingOf(options, config)) : [];
    // Who follows the run gets them with its report.
    if (!options.wait && !options.inline) for (const notice of notices) output.say(notice);
    await checkBeforeWork(installation);
    const params = paramsOf(source, { invocation, config, notices });
    const runId = await queueRun(networkPipesJobName, params, installation, options);
    isTaken = true;
    const opening = `Run ${runId}: network pipes of ${source.name}, ${bytesText(source.identity.bytes)}`;
    const run = { runId, job: networkPipesJobName };
    return await carryOut(run, options, { installation, output, opening }, factsOf(source));
  } finally {
    if (!isTaken) await dropSource(source);
  }
}

function findKnown(
  { content }: PushSource,
  options: PushOptions,
  config: Config,
  { warehouse }: Installation,
): Promise<KnownPush | undefined> {
  const { url } = config.service;
  const { form } = readingOf(options, config);
  return warehouse.pushes.find({
    fileSha256: content.sha256,
    serviceUrl: url === undefined ? undefined : shownBaseUrl(url),
    form,
  });
}

/** A file without a usable header is refused before there is a run. */
async function checkHeader({ file, name }: PushSource, reading: NetworkPipesParams['reading']): Promise<void> {
  for await (const _ of readPipes({ path: file, name }, reading)) return;
}

async function topologyOf(source: PushSource, reading: NetworkPipesParams['reading']): Promise<readonly string[]> {
  const topology = new Topology();
  for await (const { entries } of readPipes({ path: source.file, name: source.name }, reading)) {
    for (const entry of entries) if (entry.kind === 'item') topology.add(entry);
  }
  return topologySentences(topology.report());
}

function paramsOf(
  source: PushSource,
  how: {
    readonly invocation: Invocation<PushOptions>;
    readonly config: Config;
    readonly notices: readonly string[];
  },
): NetworkPipesParams {
  const { invocation, config, notices } = how;
  const { name, file, isSpooled, identity, content } = source;
  return {
    name,
    file,
    isSpooled,
    identity,
    content,
    rejectsFolder: rejectsFolderOf(config),
    chunkItems: invocation.options.chunkItems ?? config.push.chunkItems,
    reading: readingOf(invocation.options, config),
    notices: [...notices],
  };
}

/** What the JSON of a push that is left queued says of its file. */
function factsOf({ file, content: { sha256 } }: PushSource) {
  return { file, sha256 };
}

/** Not an error: who pushes a file twice, as a schedule may, has what was wished for. */
async function tellKnown(
  known: KnownPush,
  source: PushSource,
  { invocation, parts }: { readonly invocation: Invocation<PushOptions>; readonly parts: CarryOutParts },
): Promise<ExitCode> {
  const { options, output } = invocation;
  const { runId, state, atMs } = known;
  const what = state === 'done' ? 'has been pushed' : 'is being pushed';
  const opening = `The content of ${source.name} ${what} by run ${runId}, ${instantText(atMs)}. Push it anew with --again.`;
  if (state === 'under-way' && (options.wait || options.inline)) {
    return carryOut({ runId, job: networkPipesJobName }, options, { ...parts, opening }, factsOf(source));
  }
  const at = new Date(atMs).toISOString();
  const facts = { runId, job: networkPipesJobName, state: state === 'done' ? 'already-pushed' : 'under-way', at };
  if (output.json) await output.document({ ...facts, sha256: source.content.sha256 });
  else await output.print(foldedHint(opening, output.width));
  return exitCodes.done;
}
