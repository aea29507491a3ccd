/** Commands for the next steps, below a result. Pure. */
import type { NextStep } from './actions.ts';
import { tableText, widestOf } from './table.ts';

/**
 * Each step on a line, or its meaning on the line below if the lines would be too long: a command is never broken.
 * Empty without steps.
 */
export function nextStepsText(steps: readonly NextStep[], width: number): string {
  if (steps.length === 0) return '';
  const table = tableText([{}, {}], steps, '  ');
  const isWide = widestOf(table.split('\n')) > width;
  return `Next\n${isWide ? steps.map(([command, does]) => `  ${command}\n    ${does}`).join('\n') : table}`;
}
