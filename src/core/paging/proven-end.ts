/**
 * Whether a 404 behind the first page is the end of a read (docs/design.md section 6). A service that answers so past
 * its last page may end a read by it. From any other one it is a page that did not come, and the rows behind it would
 * be taken for gone (G4).
 */
import { farPage, type PageAnswer, type PageAsk, type Paging, type PagingEnd } from './page.ts';
import type { OffPages } from './service-profile.ts';

export interface KnownEnd {
  readonly pageBase: 0 | 1 | 'unknown';
  /** Answer to a page past the last, as the profile has it. */
  readonly pastLast: OffPages | 'last-page' | 'unknown';
}

/**
 * Drives `reading`, and ends it with the failure `unproven-end` at such a 404. What the profile does not tell, the read
 * sees for itself, once and by two requests: a page that no well reaches must be a 404 too, and the first page must
 * still be one.
 */
export function* withProvenEnd<Outcome>(
  reading: Paging<Outcome>,
  known: KnownEnd | undefined,
): Paging<Outcome | Extract<PagingEnd, { kind: 'fail' }>> {
  let firstPage: number | undefined = known?.pageBase === 'unknown' ? undefined : known?.pageBase;
  let hasCome = false;
  let isProven = known?.pastLast === 'not-found';
  let step = reading.next();
  while (step.done !== true) {
    const ask = step.value;
    const answer = yield ask;
    if (!isProven && hasCome && isBehind(ask, answer, firstPage)) {
      isProven = isUnknown(known) && (yield* seeEnd(firstPage ?? 0, ask));
      if (!isProven) return { kind: 'fail', failure: 'unproven-end' };
    }
    if (answer.kind === 'page') {
      hasCome = true;
      firstPage ??= ask.page;
    }
    step = reading.next(answer);
  }
  return step.value;
}

/** A narrower window may be empty where the whole one is not: a 404 for it is no end of pages. */
function isBehind({ page, window }: PageAsk, { kind }: PageAnswer, firstPage: number | undefined): boolean {
  return kind === 'not-found' && window === undefined && firstPage !== undefined && page > firstPage;
}

function isUnknown(known: KnownEnd | undefined): boolean {
  return known === undefined || known.pastLast === 'unknown';
}

function* seeEnd(firstPage: number, { limit }: PageAsk): Paging<boolean> {
  const far = yield { page: farPage, limit, again: Infinity };
  if (far.kind !== 'not-found') return false;
  const first = yield { page: firstPage, limit, again: Infinity };
  return first.kind === 'page';
}
