import { counted, parsedJson } from '../core/base/text.ts';
import { PermanentError } from '../core/base/errors.ts';
import { notJson, wrongShape, type Answer, type RequestContext } from './classification.ts';
import { deletionAnswerSchema, recordsSchemaOf } from './contract.ts';
import type { KnownList, RecordOf } from '../core/definitions/record-list.ts';
import type { WellBody } from '../core/definitions/well-body.ts';
import { mostRecordsIn, recordPage, type PageBounds, type RecordPage } from './record-page.ts';
import type { AnswerReader } from './request-layer.ts';

const readJson: AnswerReader<unknown> = (answer, context) => {
  const value = parsedJson(answer.body.text());
  if (value === undefined) throw notJson(answer, context);
  return value;
};

/** None for 204, which says that there is nothing to send. */
const readArray: AnswerReader<readonly unknown[]> = (answer, context) => {
  if (answer.status === 204) return [];
  const value = readJson(answer, context);
  if (Array.isArray(value)) return value;
  throw wrongShape(answer, context, 'an array');
};

/** A page that was received. It is read while `take` of {@link pageReader} runs, and not after it. */
export interface ReceivedPage {
  /** JSON text in ASCII that begins an array; undefined for a body that was not kept as bytes. */
  readonly bytes: Buffer | undefined;
  /** Records that a page of these bytes may have. */
  readonly mostRecords: number;
  /**
   * The records, neither checked nor changed. Throws PermanentError `too-many-records` for a page of far more records than
   * were asked for, which are too short to be records, or of more than `mostRecords`.
   */
  parsed(): RecordPage;
}

/** docs/interface.md section 4.1. The value of the call is what `take` makes of the page. */
export function pageReader<T>(bounds: PageBounds, take: (page: ReceivedPage) => T): AnswerReader<T> {
  return (answer, context) => {
    const bytes = answer.status === 204 ? undefined : answer.body.bytes;
    const mostRecords = mostRecordsIn(bytes?.length ?? 0, bounds);
    return take({ bytes, mostRecords, parsed: () => parsedPage(answer, context, bounds) });
  };
}

function parsedPage(answer: Answer, context: RequestContext, bounds: PageBounds): RecordPage {
  if (answer.status === 204) return emptyPage;
  const page = recordPage(answer.body.text(), bounds);
  switch (page) {
    case 'broken':
      throw notJson(answer, context);
    case 'no-array':
      throw wrongShape(answer, context, 'an array');
    case 'too-many':
      throw new PermanentError('too-many-records', `${context.label} was answered with more records than are taken`, {
        hint: 'Lower service.pageLimit, or raise worker.memoryMb.',
      });
    default:
      return page;
  }
}

const emptyPage: RecordPage = {
  length: 0,
  records: [],
  textOf: () => ({ whole: () => 'null', digest: () => '', member: () => 'null' }),
};

/**
 * Throws PermanentError with the position of a record that breaks the contract: another request would return the same
 * record.
 */
export function recordsReader<List extends KnownList>(list: List): AnswerReader<ReadonlyArray<RecordOf<List>>> {
  const schema = recordsSchemaOf(list);
  return (answer, context) => {
    const { data, error } = schema.safeParse(readArray(answer, context));
    if (error === undefined) return data;
    const faults = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new PermanentError(
      'broken-record',
      `${context.label} answered with records that break the contract: ${faults[0]}`,
      { hint: `${counted(faults.length, 'fault')} in all. They have to be fixed at the service.` },
    );
  };
}

/** docs/interface.md sections 4.3 to 4.5. Null for another 2xx without a body. */
export const readDeletion: AnswerReader<number | null> = (answer, context) => {
  if (answer.status !== 200 && answer.body.text().trim() === '') return null;
  const { data, error } = deletionAnswerSchema.safeParse(readJson(answer, context));
  if (error === undefined) return data;
  throw wrongShape(answer, context, 'a whole number of 32 bits');
};

/**
 * docs/interface.md section 4.6. The form of the body is not documented. Throws PermanentError `no-content` for an answer
 * without one, whatever its status, so that a stored body stays (G4), and `broken-text` for bytes that are not UTF-8,
 * which no warehouse can store.
 */
export const readWell: AnswerReader<WellBody> = (answer, { label }) => {
  const { status, contentType } = answer;
  const body = answer.body.text();
  if (body.trim() === '') {
    throw new PermanentError('no-content', `${label} answered ${status} without a body`, {
      status,
      hint: 'The service has to say why it has nothing of this well. What is stored of it stays.',
    });
  }
  if (body.isWellFormed()) return { contentType, body };
  throw new PermanentError('broken-text', `${label} answered with text that is not UTF-8`, {
    hint: 'It has to be fixed at the service.',
  });
};

/** docs/interface.md section 4.7. The body is not documented. */
export const readNothing: AnswerReader<void> = () => undefined;
