/** Separates refusals of a page, a limit or a well from failures of the service. */
import { NotFoundError, PermanentError } from '../core/base/errors.ts';

/** What was made of the page, or a refusal that may concern pages or limits. Throws every other error. */
export async function replyTo<Page>(page: Promise<Page>): Promise<Page | PermanentError> {
  try {
    return await page;
  } catch (error) {
    if (error instanceof PermanentError && refusalOf(error) !== undefined) return error;
    throw error;
  }
}

/** Many frameworks answer 422 to a parameter out of range, where others answer 400. */
export function refusalOf(error: PermanentError): 'not-found' | 'refused' | undefined {
  if (error instanceof NotFoundError) return 'not-found';
  return error.status === 400 || error.status === 422 ? 'refused' : undefined;
}
