/** A list of targets or rows that holds its header alone. */
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
