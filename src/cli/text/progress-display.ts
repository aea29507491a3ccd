/** Progress on standard error: a bar at a terminal, on the line below all messages. */
import { SingleBar } from 'cli-progress';
import type { RunObserver } from '../../app/runs/follow-run.ts';
import { doneUnitsOf, progressOf, progressParts, type ProgressSample } from '../../app/runs/run-progress.ts';
import { columnsOf, type LiveLine, type Output } from '../output.ts';
import type { JobDescription } from '../../core/run/job-description.ts';

const barColumns = { least: 10, most: 40 } as const;
/** Beside the bar: ` 100 %  `. */
const shareColumns = 8;

/** `job` describes the units and the counts. */
export function createProgressDisplay(output: Output, job: JobDescription): RunObserver {
  const display = barDisplay(output, job);
  return job.units.isSingle ? withoutFailure(display) : display;
}

/** A failed file is settled too: the display shows it as complete when its run is done, and not before. */
function withoutFailure(display: RunObserver): RunObserver {
  return {
    ...display,
    show: (sample) => {
      const { settledUnits, state } = sample.progress;
      if (settledUnits === 0 || state === 'done') display.show(sample);
    },
  };
}

function barDisplay(output: Output, job: JobDescription): RunObserver {
  const bar = createBar(output);
  let first: ProgressSample | undefined;
  return {
    show(sample) {
      first ??= sample;
      const { progress } = sample;
      bar.show(doneUnitsOf(progress), progress.units, progressParts(progressOf(first, sample, job), job));
    },
    remark: (text) => output.say(text),
    end: () => bar.end(),
  };
}

export interface Bar {
  /** `parts` are the text beside the bar, the most important first. */
  show(done: number, total: number, parts: readonly string[]): void;
  end(): void;
}

/** Shows nothing before the first call of `show`. */
export function createBar(output: Output): Bar {
  const outlet = output.stderr;
  let parts: readonly string[] = [];
  const bar = new SingleBar({
    stream: outlet,
    // A terminal may change its width while the bar is shown.
    format: (_, { progress }) => barLine(parts, progress, columnsOf(outlet)),
    hideCursor: true,
    // A message in between has cleared its line.
    forceRedraw: true,
    emptyOnZero: true,
    // The command itself handles signals.
    gracefulExit: false,
  });
  const line: LiveLine = { clear: () => outlet.write(clearedLine), draw: () => bar.render() };
  let isShown = false;

  return {
    show(done, total, text) {
      parts = text;
      if (!isShown) {
        bar.start(total, done);
        output.keepBelow(line);
      }
      isShown = true;
      bar.setTotal(total);
      bar.update(done);
    },
    end() {
      if (!isShown) return;
      isShown = false;
      output.keepBelow(undefined);
      bar.stop();
    },
  };
}

/** Moves to the start of the line, and clears it. */
const clearedLine = '\r\u001B[K';

/**
 * The bar, the share and as many parts of the text as the width holds, the first ones first; a part is never cut. The
 * last column stays free: a terminal wraps after it.
 */
export function barLine(parts: readonly string[], share: number, width: number): string {
  const room = width - 1 - shareColumns - barColumns.least;
  const shown: string[] = [];
  for (const part of parts) {
    if ([...shown, part].join(', ').length > room) break;
    shown.push(part);
  }
  const text = shown.join(', ');
  const size = Math.min(barColumns.most, barColumns.least + room - text.length);
  const done = Math.floor(share * size);
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  return `${'█'.repeat(done)}${'░'.repeat(Math.max(0, size - done))} ${percent}  ${text}`;
}
