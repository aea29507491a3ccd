/** The title of a run, after its id: `daily production of 7 wells`. Pure. */
import type { DailyProductionSummary } from '../../app/requests/export-daily-production.ts';
import type { DefinitionsSummary } from '../../app/requests/export-definitions.ts';
import { boundText, counted } from '../../core/base/text.ts';

export function dailyProductionTitle({ kind, wells, repeatedWells, fromMs, toMs }: DailyProductionSummary): string {
  const part = kind === 'gaps' ? 'the gaps in daily production' : 'daily production';
  const since = fromMs === undefined ? '' : ` from ${boundText(fromMs)}`;
  const until = toMs === undefined ? '' : ` to ${boundText(toMs)}`;
  return `${part} of ${counted(wells, 'well')}${since}${until}${repeatedText(repeatedWells)}`;
}

export function definitionsTitle({ kind, targets, repeatedTargets }: DefinitionsSummary): string {
  const what =
    kind === 'wells'
      ? `the bodies of ${counted(targets, 'well')}`
      : `time series definitions of ${counted(targets, 'equipment id')}`;
  return `${what}${repeatedText(repeatedTargets)}`;
}

function repeatedText(count: number): string {
  return count === 0 ? '' : ` (${counted(count, 'repeated name')} ignored)`;
}
