/** Options and help of every command that starts a run. */
import { Option, type Command } from 'commander';

export interface StartOptions {
  readonly wait?: true;
  readonly inline?: true;
  readonly skipIfRunning?: true;
}

export function waitOption(): Option {
  return new Option('--wait', 'follow the run to its end, then print its report');
}

export function inlineOption(): Option {
  return new Option('--inline', 'work the run in this process, then print its report').conflicts('wait');
}

export function skipIfRunningOption(): Option {
  return new Option('--skip-if-running', 'end with 0 when the same work is under way already');
}

export function withStartOptions(command: Command): Command {
  return command.addOption(waitOption()).addOption(inlineOption()).addOption(skipIfRunningOption());
}

export const startExplanation = `
--inline needs no worker: this process works the shared queues itself, and other
workers may help. If it is killed, nothing is lost: any worker, or the next
--inline, goes on with the run. Ctrl-C hands the work back, and the run stays
queued; with --wait it only leaves, and the run goes on.

--skip-if-running starts nothing where a run for the same work (job, parameters
and targets) has not ended: exit code 0 while some process works it and it moved
within run.stuckAfterMs (30 min), else 1 with its age. A run that nobody works is
continued.

Exit codes
  0  done; without --wait or --inline: queued
  1  failed
  2  wrong use
  3  done, with quarantined or held records
  4  cancelled, or interrupted by Ctrl-C
  5  could not reach Redis, the warehouse or the service
`;
