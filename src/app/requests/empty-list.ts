/** A list of targets or rows that names none: a file that holds its header alone, or an empty array. */
import { UsageError } from '../../core/base/errors.ts';

/**
 * A file without a row is more often a broken export of another system than a night without work: it is refused, unless
 * the operator says that it may be empty.
 */
export class EmptyListError extends UsageError {
  override readonly name = 'EmptyListError';

  constructor(message: string, hint = 'Nothing was started.') {
    super(message, { hint, action: { kind: 'allow-empty' } });
  }
}

/** A list that was given, and is empty: 422 of the HTTP API, wrong use of a command. */
export class NoTargetError extends UsageError {
  override readonly name = 'NoTargetError';
}

/** Throws NoTargetError for a list without a name; one that is not given at all is another matter. */
export function refuseEmpty(list: readonly unknown[] | undefined, calledBy: string): void {
  if (list === undefined || list.length > 0) return;
  throw new NoTargetError(`${calledBy} is an empty list: it names nothing, and never all`, {
    hint: `Nothing was started. Name at least one, or leave ${calledBy} out.`,
  });
}
