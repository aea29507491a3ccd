/** `wellsync worker`: works the queues until it is told to stop. */
import { once } from 'node:events';
import { InvalidArgumentError, type Command } from 'commander';
import { chunkQueues, type ChunkQueueName } from '../queue/port.ts';
import { checkRedis, shownAddress } from '../queue/redis.ts';
import { actionOf, configOf, examples, type Invocation, type Shell } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { createInstallation, serviceUrlOf, type Installation } from './installation.ts';
import { createLog } from './log.ts';
import type { Output } from './output.ts';
import { listenForStop } from './stop-signals.ts';
import { listed, roughDurationText } from './words.ts';
import { workHere } from './work-here.ts';

interface WorkerFlags {
  readonly queues?: readonly ChunkQueueName[];
}

export function addWorkerCommand(program: Command, shell: Shell): void {
  program
    .command('worker')
    .description('work the queues until told to stop')
    .option('--queues <names>', `only these, separated by commas: ${chunkQueues.join(', ')}`, queueNames)
    .addHelpText('after', `${explanation}${examples(['wellsync worker', 'wellsync worker --queues export'])}`)
    .action(actionOf(shell, work));
}

const explanation = `
SIGTERM or Ctrl-C lets work in flight end within worker.graceMs, then hands it
back; a second one stops at once. Killing a worker loses nothing. The log goes to
standard error, as JSON lines.
`;

function queueNames(text: string): readonly ChunkQueueName[] {
  const named = text.split(',').map((name) => name.trim());
  const known = chunkQueues.filter((name) => named.includes(name));
  if (known.length === new Set(named).size) return known;
  throw new InvalidArgumentError(`It must name queues, separated by commas: ${chunkQueues.join(', ')}.`);
}

async function work(invocation: Invocation<WorkerFlags>): Promise<ExitCode> {
  const { options, output } = invocation;
  const config = configOf(invocation);
  const queues = options.queues ?? chunkQueues;
  const log = createLog({ level: config.logLevel, config });
  serviceUrlOf(config);
  await checkRedis(config.redis.url);
  await using installation = createInstallation(config, { log });
  await installation.warehouse.check();

  using stop = listenForStop(exitCodes.failed);
  await workHere({ installation, queues, log }, async () => {
    await announce(installation, queues, output);
    if (!stop.signal.aborted) await once(stop.signal, 'abort');
    log.info({ graceMs: config.worker.graceMs }, 'stopping');
  });
  return exitCodes.done;
}

async function announce(installation: Installation, queues: readonly string[], output: Output): Promise<void> {
  const { config, warehouse } = installation;
  const facts = {
    queues,
    redis: shownAddress(config.redis.url),
    prefix: config.queue.prefix,
    service: serviceUrlOf(config),
    warehouse: warehouse.location,
  };
  if (output.json) return output.document(facts);
  const { redis, prefix, service, warehouse: location } = facts;
  return output.print(
    `Working ${listed(queues)} from ${redis} (prefix ${prefix}): ${service} to ${location}. ` +
      `Ctrl-C stops, within ${roughDurationText(config.worker.graceMs)}.`,
  );
}
