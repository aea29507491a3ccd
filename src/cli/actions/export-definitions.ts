import { type DefinitionInput, requestTimeSeries, requestWells } from '../../app/exports/definitions.ts';
import type { InputNames } from '../../app/exports/target-input.ts';
import type { ExitCode } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import type { EmptyOption } from '../commands/empty-option.ts';
import { unlessEmpty } from './allow-empty.ts';
import { appFor } from './open-app.ts';
import type { StartOptions } from '../commands/start-options.ts';
import { definitionsTitle } from '../text/report.ts';
import { startAndCarryOut } from './carry-out.ts';
import { configOf } from './config.ts';

interface DefinitionOptions extends StartOptions, EmptyOption {
  readonly fromWarehouse?: true;
  readonly allowShrink?: true;
}

export interface TimeSeriesOptions extends DefinitionOptions {
  readonly equipment?: readonly string[];
  readonly equipmentFile?: string;
}

export interface WellsOptions extends DefinitionOptions {
  readonly well?: readonly string[];
  readonly wells?: string;
}

export function exportTimeSeries(invocation: Invocation<TimeSeriesOptions>): Promise<ExitCode> {
  const { equipment: names, equipmentFile: file } = invocation.options;
  const flags = { names: '--equipment', file: '--equipment-file', fromWarehouse: '--from-warehouse' };
  return unlessEmpty(invocation, () => exportDefinitions(invocation, { names, file }, flags, requestTimeSeries));
}

export function exportWells(invocation: Invocation<WellsOptions>): Promise<ExitCode> {
  const { well: names, wells: file } = invocation.options;
  const flags = { names: '--well', file: '--wells', fromWarehouse: '--from-warehouse' };
  return unlessEmpty(invocation, () => exportDefinitions(invocation, { names, file }, flags, requestWells));
}

async function exportDefinitions(
  invocation: Invocation<DefinitionOptions>,
  named: Pick<DefinitionInput, 'names' | 'file'>,
  names: InputNames<DefinitionInput>,
  requestFrom: typeof requestTimeSeries,
): Promise<ExitCode> {
  const { options, output, stdin } = invocation;
  const { fromWarehouse, allowShrink, allowEmpty } = options;
  await using app = appFor(configOf(invocation), output);
  const request = await requestFrom(app, { ...named, allowEmpty, fromWarehouse, allowShrink }, { stdin, names });
  const { targets, repeatedTargets } = request.summary;
  const title = definitionsTitle(request.summary);
  return await startAndCarryOut(invocation, app, request, { title, fields: { targets, repeatedTargets } });
}
