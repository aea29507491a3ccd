/** Decides which refusals are answers about pages: what the service says of a page, of a limit or of a well, and not its failure. */
import { NotFoundError, PermanentError } from '../core/errors.ts';
import type { RecordPage } from './record-page.ts';

export type PageReply = RecordPage | PermanentError;

/** A page, or a refusal that may be an answer about pages; every other error is thrown. */
export async function replyTo(page: Promise<RecordPage>): Promise<PageReply> {
  try {
    return await page;
  } catch (error) {
    if (error instanceof PermanentError && refusalOf(error) !== undefined) return error;
    throw error;
  }
}

/** 422 is what many frameworks answer to a parameter out of its range, where others answer 400. */
export function refusalOf(error: PermanentError): 'not-found' | 'refused' | undefined {
  if (error instanceof NotFoundError) return 'not-found';
  return error.status === 400 || error.status === 422 ? 'refused' : undefined;
}
