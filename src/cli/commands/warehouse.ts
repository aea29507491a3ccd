/** `wellsync warehouse`: copies and moves the warehouse, puts it in order, and says what it holds. */
import type { Command } from 'commander';
import type { OptimizeOptions } from '../actions/optimize.ts';
import type { BackupOptions } from '../actions/warehouse.ts';
import { actionOf, examples, type Invocation, type Shell } from './command-line.ts';

const actions = () => import('../actions/warehouse.ts');

export function addWarehouseCommand(program: Command, shell: Shell): void {
  const group = program.command('warehouse').description('copy the warehouse, put it in order, and say what it holds');
  group
    .command('info')
    .description('show path, size, schema, service, rows of each table, days and order')
    .addHelpText('after', examples(['wellsync warehouse info', 'wellsync warehouse info --json']))
    .action(actionOf(shell, async (invocation: Invocation<object>) => (await actions()).showWarehouse(invocation)));
  group
    .command('backup')
    .argument('<file>', 'path of the copy')
    .description('copy the warehouse to a file, also while workers work')
    .option('--force', 'replace a file that is there')
    .addHelpText('after', backupExplanation)
    .action(actionOf(shell, async (invocation: Invocation<BackupOptions>) => (await actions()).backUpTo(invocation)));
  group
    .command('copy')
    .argument('<from>', 'duckdb:PATH')
    .argument('<to>', 'postgres://USER@HOST:PORT/DATABASE, an empty database')
    .description('move the warehouse from a DuckDB file to PostgreSQL, with all that it holds')
    .addHelpText('after', copyExplanation)
    .action(
      actionOf(shell, async (invocation: Invocation<object>) =>
        (await import('../actions/copy-warehouse.ts')).copyWarehouse(invocation),
      ),
    );
  group
    .command('optimize')
    .description('rewrite daily production by well and date, also while workers work')
    .option('--dry-run', 'say what would be rewritten; write nothing')
    .addHelpText('after', optimizeExplanation)
    .action(
      actionOf(shell, async (invocation: Invocation<OptimizeOptions>) =>
        (await import('../actions/optimize.ts')).optimizeWarehouse(invocation),
      ),
    );
}

const copyExplanation = `
Stop all workers first. Rows, history, coverage, runs, plans and the audit are
copied, and every table is compared by a checksum of its rows; the file stays as
it is. The copy may be stopped or killed at any time: the same command goes on
where it was. The database is a warehouse only once all is equal, with the id of
the file: work on one of the two from then on.

The password is that of warehouse.passwordFile, or of PGPASSWORD.
${examples(['wellsync warehouse copy duckdb:./data/warehouse.duckdb postgres://wellsync@db/production'])}`;

const optimizeExplanation = `
Each night adds its rows at the end, as one more piece of each well, and a well
in many pieces is found more slowly. This puts the pieces together; no row,
version or coverage changes by it. Where the wells have more than 30 nights in
the tail, it is done after a run without being asked.

It may be stopped or killed at any time: it works in short steps, and goes on
at its place. Workers commit in between. The space of the old rows is used
again, so that the file hardly grows.
${examples(['wellsync warehouse optimize --dry-run', 'wellsync warehouse optimize'])}`;

const backupExplanation = `
The copy is whole: workers wait for it, and it appears under its name only when
it is complete. It has an id of its own, so that no worker takes it for the
original, and its unfinished runs are "interrupted": they go on in the original,
and by wellsync runs retry in the copy. The last hash of its audit is printed:
wellsync audit verify --kept HASH holds the original to it.

To restore: stop all workers, remove the warehouse with the files .wal and .beat
beside it (its log would be read into the copy), put the copy in its place, and
set another WELLSYNC_QUEUE_PREFIX. A warehouse of an earlier schema is copied as
it is, id and runs included: do so before an upgrade.
${examples(['wellsync warehouse backup /backup/wellsync-2024-03-03.duckdb'])}`;
