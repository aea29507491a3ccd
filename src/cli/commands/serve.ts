/** `wellsync serve`: the HTTP API. */
import type { Command } from 'commander';
import type { ServeFlags } from '../actions/serve.ts';
import { examples, type Invocation, portNumber, type Shell, workerActionOf } from './command-line.ts';

export function addServeCommand(program: Command, shell: Shell): void {
  program
    .command('serve')
    .description('serve the HTTP API until told to stop')
    .option('--port <number>', 'port to listen on (http.port); 0 takes any free one', portNumber)
    .option('--host <address>', 'address to listen on (http.host)')
    .option('--no-work', 'leave the queues of a DuckDB warehouse to a worker')
    .addHelpText('after', `${explanation}${examples(['wellsync serve', 'wellsync serve --port 9000 --no-work'])}`)
    .action(
      workerActionOf(shell, async (invocation: Invocation<ServeFlags>) =>
        (await import('../actions/serve.ts')).serve(invocation),
      ),
    );
}

const explanation = `
A DuckDB warehouse is a file of one process: the server works its queues too, unless
a worker does so already. On 127.0.0.1 it lets programs of this host read and operate
until http.tokens names tokens; any other address needs them. Make one with:
wellsync token create NAME --role read. docs/api.md describes the routes.
`;
