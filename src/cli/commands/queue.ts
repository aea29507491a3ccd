/** `wellsync queue`: shows and changes through what the warehouse is worked. */
import { Argument } from 'commander';
import { counted } from '../../core/base/text.ts';
import { type QueueKind, queueKinds } from '../../core/run/warehouse-queue.ts';
import type { Call, ProgramCommand } from '../command.ts';

export function addQueueCommand(program: ProgramCommand): void {
  const group = program.command('queue').description('show or change through what the warehouse is worked');
  group
    .command('show')
    .description('show the kind of queue of the warehouse, and that of the configuration')
    .explained('', ['wellsync queue show', 'wellsync queue show --json'])
    .runs(showQueue);
  group
    .command('use')
    .addArgument(new Argument('<kind>', 'embedded or redis').choices(queueKinds))
    .description('work the warehouse through another kind of queue from now on')
    .explained(useExplanation, ['wellsync queue use redis', 'wellsync queue use embedded'])
    .runs(useQueue);
}

const useExplanation = `
Without redis.url the queue is embedded in the one process that works the
warehouse; with it, any number of workers on any host share the work through
Redis. A warehouse keeps the kind with which it was first worked. Stop its
workers, change the kind, then set or remove redis.url for all its commands.
Runs that have not ended go on through the other queue.
`;

const names: Readonly<Record<QueueKind, string>> = { embedded: 'an embedded queue', redis: 'Redis' };

async function showQueue(call: Call): Promise<void> {
  const { queueStatus } = await import('../../app/queue-change.ts');
  const { output } = call;
  await using app = await call.openStored();
  const status = await queueStatus(app);
  const { queue, configured, warehouse } = status;
  const own = queue === null ? 'has no queue yet' : `is worked through ${names[queue]}`;
  const other = queue !== null && queue !== configured ? `, and the configuration says ${names[configured]}` : '';
  await output.print(`${warehouse} ${own}${other}.`, status);
}

async function useQueue(call: Call): Promise<void> {
  const { useQueue: use } = await import('../../app/queue-change.ts');
  const { output, args } = call;
  const queue: QueueKind = args[0] === 'redis' ? 'redis' : 'embedded';
  await using app = await call.openStored();
  const { isRepeat, unfinished } = await use(app, queue);
  const setting = queue === 'redis' ? 'Set redis.url' : 'Remove the settings of Redis';
  const warehouse = app.warehouse.location;
  const text = isRepeat
    ? `${warehouse} is worked through ${names[queue]} already.`
    : `${warehouse} is worked through ${names[queue]} from now on; ${counted(unfinished, 'unfinished run')} will go on there. ${setting} for all its commands and workers.`;
  await output.report(text, { queue, warehouse, unfinished, isRepeat });
}
