import { measureOwnOrder, optimize } from '../../app/warehouse/table-order.ts';
import { figure } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import type { Output } from '../output.ts';
import { listenForStop } from '../process/stop-signals.ts';
import { folded } from '../text/table.ts';
import { configOf } from './config.ts';
import { openApp } from './open-app.ts';

export interface OptimizeOptions {
  readonly dryRun?: true;
}

/** Rewrites daily production by well and date, or says what would be rewritten. SIGINT ends it between two steps. */
export async function optimizeWarehouse(invocation: Invocation<OptimizeOptions>): Promise<ExitCode> {
  using stop = listenForStop(exitCodes.cancelled);
  const { options, output } = invocation;
  await using app = openApp(configOf(invocation), output);
  const isDryRun = options.dryRun === true;
  const { isUnderWay, ...before } = await measureOwnOrder(app);
  let rewrittenRows = 0;
  if (!isDryRun && (before.looseRows > 0 || isUnderWay)) {
    using progress = await progressOf(output, before.looseRows);
    rewrittenRows = await optimize(app, stop.signal, progress.show);
  }
  const done = { ...before, rewrittenRows, dryRun: isDryRun };
  if (output.json) await output.document(done);
  else await output.report(folded(optimizedText(done, stop.signal.aborted), output.width));
  return stop.signal.aborted ? exitCodes.cancelled : exitCodes.done;
}

type Optimized = Readonly<Record<'rows' | 'looseRows' | 'rewrittenRows', number>> & { readonly dryRun: boolean };

function optimizedText({ rows, looseRows, rewrittenRows, dryRun }: Optimized, isStopped: boolean): string {
  if (looseRows === 0 && rewrittenRows === 0) return `All ${figure(rows)} rows of daily production lie in order.`;
  if (dryRun) return `Would rewrite ${figure(looseRows)} of ${figure(rows)} rows of daily production by well and date.`;
  const rewritten = `${figure(rewrittenRows)} rows of daily production by well and date`;
  return isStopped
    ? `Rewrote ${rewritten}, and stopped: the next wellsync warehouse optimize goes on there.`
    : `Rewrote ${rewritten}.`;
}

async function progressOf(
  output: Output,
  rows: number,
): Promise<{ readonly show: (rewrittenRows: number) => void } & Disposable> {
  if (!output.showsProgress) return { show: () => {}, [Symbol.dispose]: () => {} };
  const { createBar } = await import('../text/progress-display.ts');
  const bar = createBar(output);
  return {
    show: (rewrittenRows) =>
      bar.show(Math.min(rewrittenRows, rows), Math.max(rows, 1), [`${figure(rewrittenRows)} of ${figure(rows)} rows`]),
    [Symbol.dispose]: () => bar.end(),
  };
}
