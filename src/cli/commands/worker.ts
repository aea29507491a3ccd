/** `wellsync worker`: works the queues until it is stopped. */
import type { WorkerFlags } from '../actions/worker.ts';
import { InvalidArgumentError, type Command } from 'commander';
import { chunkQueues, type ChunkQueueName } from '../../core/run/job-description.ts';
import { examples, type Invocation, portNumber, type Shell, workerActionOf } from './command-line.ts';

export function addWorkerCommand(program: Command, shell: Shell): void {
  program
    .command('worker')
    .description('work the queues until told to stop')
    .option('--queues <names>', `only these, separated by commas: ${chunkQueues.join(', ')}`, queueNames)
    .option('--port <number>', 'answer /healthz and /readyz on this port; 0 takes any free one', portNumber)
    .option('--host <address>', 'address of that port', '127.0.0.1')
    .addHelpText(
      'after',
      `${explanation}${examples(['wellsync worker', 'wellsync worker --queues export', 'wellsync worker --port 9464'])}`,
    )
    .action(
      workerActionOf(shell, async (invocation: Invocation<WorkerFlags>) =>
        (await import('../actions/worker.ts')).work(invocation),
      ),
    );
}

const explanation = `
SIGTERM, SIGHUP or Ctrl-C lets work in flight end within worker.graceMs, then hands it
back; a second one stops at once. Killing a worker loses nothing. The log goes to
standard error, as JSON lines.
`;

function queueNames(text: string): readonly ChunkQueueName[] {
  const named = text.split(',').map((name) => name.trim());
  const known = chunkQueues.filter((name) => named.includes(name));
  if (known.length === new Set(named).size) return known;
  throw new InvalidArgumentError(`It must name queues, separated by commas: ${chunkQueues.join(', ')}.`);
}
