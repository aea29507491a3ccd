/** Where the wells of a run without bounds come from: its name is part of the run's parameters, and kept with its wells. */

/** The wells of the warehouse itself: none is ever left out of them. */
const ofWarehouse = 'warehouse';

/** Each run may be given another list: nothing says that it is the one of before. */
const ofStandardInput = 'standard input';

/**
 * The name of the source of a run over whole histories; undefined for wells that are `isNamedEach`. `file`: an absolute
 * path, or `-`; without one the list of the configuration is meant.
 */
export function wellSourceOf({
  isFromWarehouse,
  schedule,
  isNamedEach,
  file,
}: {
  readonly isFromWarehouse: boolean;
  readonly schedule: string | undefined;
  readonly isNamedEach: boolean;
  readonly file: string | undefined;
}): string | undefined {
  if (isFromWarehouse) return ofWarehouse;
  if (schedule !== undefined) return `schedule ${schedule}`;
  if (isNamedEach) return undefined;
  return file === '-' ? ofStandardInput : (file ?? 'configuration');
}

/** Whether a well that is not among the wells of the source any more was left out of it. */
export function isList(source: string): boolean {
  return source !== ofWarehouse && source !== ofStandardInput;
}
