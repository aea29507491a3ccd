/** Owns how progress is shown on standard error: a bar on a terminal, a plain line now and then anywhere else. */
import { SingleBar } from 'cli-progress';
import type { Outlet } from './output.ts';
import { doneUnitsOf, progressOf, progressText, type Sighting } from './run-progress.ts';
import type { UnitWords } from './run-words.ts';

export interface ProgressDisplay {
  show(sighting: Sighting): void;
  /** A remark that must not be lost in the bar. */
  note(text: string): void;
  end(): void;
}

const lineEveryMs = 5_000;
const barColumns = { least: 10, most: 40, besideIt: 72 } as const;

/** `units` is what the run settles. */
export function createProgressDisplay(outlet: Outlet, units: UnitWords): ProgressDisplay {
  const display = outlet.isTTY === true ? barDisplay(outlet, units) : lineDisplay(outlet, units);
  return units.isSingle ? withoutFailure(display) : display;
}

/** A file that failed is settled all the same: it is shown as read to its end when its run is done, and not before. */
function withoutFailure(display: ProgressDisplay): ProgressDisplay {
  return {
    ...display,
    show: (sighting) => {
      const { settledUnits, state } = sighting.board;
      if (settledUnits === 0 || state === 'done') display.show(sighting);
    },
  };
}

function barDisplay(outlet: Outlet, units: UnitWords): ProgressDisplay {
  const room = (outlet.columns ?? 80) - barColumns.besideIt;
  const bar = new SingleBar({
    stream: outlet,
    format: '{bar} {percentage}%  {text}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: Math.max(barColumns.least, Math.min(barColumns.most, room)),
    hideCursor: true,
    // A remark in between has taken its line.
    forceRedraw: true,
    emptyOnZero: true,
    // The command itself decides what a signal does.
    gracefulExit: false,
  });
  let first: Sighting | undefined;
  let isShown = false;

  return {
    show(sighting) {
      first ??= sighting;
      const { board } = sighting;
      const text = progressText(progressOf(first, sighting), units);
      const doneUnits = doneUnitsOf(board);
      if (!isShown) bar.start(board.units, doneUnits, { text });
      isShown = true;
      bar.setTotal(board.units);
      bar.update(doneUnits, { text });
    },
    note(text) {
      outlet.write(`${isShown ? clearedLine : ''}${text}\n`);
    },
    end() {
      if (isShown) bar.stop();
      isShown = false;
    },
  };
}

/** Back to the start of the line, and clear it. */
const clearedLine = '\r\u001B[K';

function lineDisplay(outlet: Outlet, units: UnitWords): ProgressDisplay {
  let first: Sighting | undefined;
  let said = { doneUnits: -1, atMs: 0 };
  return {
    show(sighting) {
      first ??= sighting;
      const doneUnits = doneUnitsOf(sighting.board);
      const isLast = doneUnits === sighting.board.units;
      const isDue = isLast || sighting.atMs - said.atMs >= lineEveryMs;
      if (doneUnits === said.doneUnits || !isDue) return;
      said = { doneUnits, atMs: sighting.atMs };
      outlet.write(`${progressText(progressOf(first, sighting), units)}\n`);
    },
    note: (text) => void outlet.write(`${text}\n`),
    end: () => {},
  };
}
