/** Requests for the stored production of a well, in pages by date. */
import { z } from 'zod';
import { UsageError } from '../../core/base/errors.ts';
import { instantOfDay } from '../../core/time/production-day.ts';
import type { ProductionRow, RowsQuestion } from '../../warehouse/port/daily-production.ts';
import type { App } from '../app.ts';

export interface ProductionInput {
  readonly uwi: string;
  /** A production day, YYYY-MM-DD. */
  readonly from?: string | undefined;
  /** Exclusive. */
  readonly to?: string | undefined;
  readonly limit: number;
  /** From the page before. */
  readonly cursor?: string | undefined;
}

export interface ProductionPage {
  readonly rows: readonly ProductionRow[];
  /** Start of the next page; undefined on the last one. */
  readonly cursor: string | undefined;
}

/** Undefined for a well that has never had a row. Throws UsageError for a text that is no day, or no cursor. */
export async function pageOfProduction(
  { warehouse }: Pick<App, 'warehouse'>,
  { uwi, from, to, limit, cursor }: ProductionInput,
): Promise<ProductionPage | undefined> {
  for (const [name, day] of Object.entries({ from, to })) {
    if (day !== undefined && instantOfDay(day, 'UTC') === undefined) {
      throw new UsageError(`${name} ${JSON.stringify(day)} is not a day`, {
        hint: 'Write a day of the calendar as 2024-03-31.',
      });
    }
  }
  const question: RowsQuestion = {
    uwi,
    limit: limit + 1,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(cursor === undefined ? {} : { after: placeOf(cursor) }),
  };
  const found = await warehouse.dailyProduction.rows(question);
  if (found === undefined) return undefined;
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, cursor: found.length > limit && last !== undefined ? cursorOf(last) : undefined };
}

type Place = NonNullable<RowsQuestion['after']>;

function cursorOf({ date, xid }: Place): string {
  return Buffer.from(JSON.stringify([date, xid])).toString('base64url');
}

const cursorSchema = z.tuple([z.iso.datetime(), z.guid()]);

function placeOf(cursor: string): Place {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const [date, xid] = cursorSchema.parse(place);
    return { date, xid };
  } catch (cause) {
    throw new UsageError(`${JSON.stringify(cursor)} is not a cursor of production`, {
      hint: 'Take the cursor that the page before gave, whole.',
      cause,
    });
  }
}
