/** `wellsync probe`: finds undocumented behaviour of the service, and keeps it for the exports. */
import type { Command } from 'commander';
import type { ProbeOptions } from '../actions/probe.ts';
import { actionOf, examples, type Invocation, type Shell } from './command-line.ts';

export function addProbeCommand(program: Command, shell: Shell): void {
  program
    .command('probe')
    .description('find how the service pages, limits, bounds and orders, and keep it for the exports')
    .option('--uwi <uwi>', 'a well with some months of data to ask for')
    .addHelpText('after', explanation)
    .action(
      actionOf(shell, async (invocation: Invocation<ProbeOptions>) =>
        (await import('../actions/probe.ts')).probe(invocation),
      ),
    );
}

const explanation = `
Asks for one well's daily production, with at most 12 requests (retries apart),
and prints what it found with the evidence. Without --uwi, wells of the warehouse and then of the
configuration are tried until one has data. What was found is kept in the
warehouse, and exports go by it; without a profile the first export probes by
itself, and one that no longer fits is found again.

Exit codes: 0 found; 1 no well has data, or the service refused; 2 no well is
known, or wrong use; 4 stopped by Ctrl-C; 5 could not reach Redis, the warehouse or the service.
${examples(['wellsync probe', 'wellsync probe --uwi "15/9-F-1 C" --json'])}`;
