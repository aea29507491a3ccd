/** `wellsync export`: the commands that read data of the service into the warehouse. */
import type { Command } from 'commander';
import type { Shell } from './command-line.ts';
import { addExportDailyProduction } from './export-daily-production.ts';
import { addExportTimeSeries, addExportWells } from './export-definitions.ts';

export function addExportCommand(program: Command, shell: Shell): void {
  const group = program.command('export').description('pull data of the service into the warehouse');
  addExportDailyProduction(group, shell);
  addExportTimeSeries(group, shell);
  addExportWells(group, shell);
}
