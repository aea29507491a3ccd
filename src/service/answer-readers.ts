/** Decides what the body of an answer that was taken is worth: typed by the schemas of the contract (INTERFACE.md section 4). */
import { PermanentError } from '../core/errors.ts';
import { notJson, wrongShape } from './classification.ts';
import { deletionAnswerSchema, timeSeriesRecordSchema } from './contract.ts';
import type { TimeSeriesRecord, WellBody } from './production-data-service.ts';
import { recordPage, type RecordPage } from './record-page.ts';
import type { AnswerReader } from './request-layer.ts';

const readJson: AnswerReader<unknown> = (answer, asked) => {
  try {
    return JSON.parse(answer.body) as unknown;
  } catch {
    throw notJson(answer, asked);
  }
};

const readArray: AnswerReader<readonly unknown[]> = (answer, asked) => {
  const value = readJson(answer, asked);
  if (Array.isArray(value)) return value;
  throw wrongShape(answer, asked, 'an array');
};

/** Section 4.1: the records stay as they came. */
export const readPage: AnswerReader<RecordPage> = (answer, asked) => recordPage(answer.body, readArray(answer, asked));

/** Section 4.2. A record that breaks the contract is a PermanentError that names its place: it would come again. */
export const readTimeSeries: AnswerReader<readonly TimeSeriesRecord[]> = (answer, asked) => {
  const { data, error } = timeSeriesRecordSchema.array().safeParse(readArray(answer, asked));
  if (error === undefined) return data;
  const faults = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new PermanentError(
    'broken-record',
    `${asked.label} answered with records that break the contract: ${faults[0]}`,
    {
      hint: `${faults.length} faults in all. They have to be mended at the service.`,
    },
  );
};

/** Sections 4.3 to 4.5; null for another 2xx without a body. */
export const readDeletion: AnswerReader<number | null> = (answer, asked) => {
  if (answer.status !== 200 && answer.body.trim() === '') return null;
  const { data, error } = deletionAnswerSchema.safeParse(readJson(answer, asked));
  if (error === undefined) return data;
  throw wrongShape(answer, asked, 'a whole number of 32 bits');
};

/** Section 4.6: the shape is not shown. */
export const readWell: AnswerReader<WellBody> = ({ contentType, body }) => ({ contentType, body });

/** Section 4.7: the body is not shown. */
export const readNothing: AnswerReader<void> = () => undefined;
