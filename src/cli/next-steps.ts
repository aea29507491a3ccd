/** Decides how the commands that may come next are shown below a result. Pure. */
import { tableText } from './table.ts';

export type NextStep = readonly [command: string, does: string];

/** Each step on a line, or its meaning below it where the lines would be too long: a command is never cut. Empty without steps. */
export function nextStepsText(steps: readonly NextStep[], width: number): string {
  if (steps.length === 0) return '';
  const table = tableText([{}, {}], steps, '  ');
  const isWide = table.split('\n').some((line) => line.length > width);
  return `Next\n${isWide ? steps.map(([command, does]) => `  ${command}\n    ${does}`).join('\n') : table}`;
}
