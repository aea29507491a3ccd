import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitsFor, readPages } from '../../../../src/core/paging/page-end.ts';
import {
  answerOf,
  carryOut,
  modelDays,
  modelWindow,
  pagingModels,
  type PagingModel,
} from '../../../support/paging-model.ts';
import { expectForAll } from '../../../support/property-runs.ts';

/**
 * Changes to the rows of some days between two requests. A row whose date changes is one row removed and one inserted.
 */
interface Change {
  readonly beforeRequest: number;
  readonly kind: 'come' | 'go';
  readonly day: number;
  readonly days: number;
}

const changes = fc.array(
  fc.record({
    beforeRequest: fc.integer({ min: 1, max: 12 }),
    kind: fc.constantFrom('come' as const, 'go' as const),
    day: fc.integer({ min: 0, max: modelDays - 1 }),
    days: fc.constantFrom(1, 1, 2, 12),
  }),
  { maxLength: 8 },
);

/** A read of a service whose rows change meanwhile, and the rows that the service had throughout. */
function readWhileMoving(model: PagingModel, wanted: number, moves: readonly Change[]) {
  const present = new Set(model.days);
  const stayed = new Set(model.days);
  const pages = readPages({ window: modelWindow, limits: limitsFor(wanted), maxPages: 400 });
  const outcome = carryOut(pages, (ask, request) => {
    for (const { kind, day: first, days } of moves.filter(({ beforeRequest }) => beforeRequest === request)) {
      for (let day = first; day < Math.min(first + days, modelDays); day += 1) {
        if (kind === 'come') present.add(day);
        else if (present.delete(day)) stayed.delete(day);
      }
    }
    return answerOf(model, ask, [...present]);
  });
  return { ...outcome, stayed };
}

function expectNothingLost({ end, keys, stayed }: ReturnType<typeof readWhileMoving>): void {
  if (end.kind === 'fail') return;
  expect([...stayed].filter((day) => !keys.has(String(day)))).toEqual([]);
}

/** Services that send at least five rows per page when they have them. */
const models = pagingModels.map((model) => ({
  ...model,
  defaultLimit: Math.max(5, model.defaultLimit),
  maxLimit: Math.max(5, model.maxLimit),
}));
/** Days that all have a row, so that insertions and removals move other rows. */
const fullDays = fc.integer({ min: 20, max: 70 }).map((count) => Array.from({ length: count }, (_, day) => day));
const wantedLimits = fc.integer({ min: 5, max: 24 });

const modelOfGrants: PagingModel = {
  base: 0,
  below: 'refused',
  pastEnd: 'empty',
  defaultLimit: 5,
  maxLimit: 22,
  overLimit: 'clamp',
  anyLimit: 'honoured',
  page: 'honoured',
  startBound: 'inclusive',
  endBound: 'inclusive',
  order: 'ascending',
  overlap: false,
  days: [],
};

describe('rows that are inserted and removed between any two requests', () => {
  it('G4: a read returns every row that stays while others move, when limits are granted', () => {
    expectForAll(
      fc.property(models, fc.option(fullDays), wantedLimits, changes, (any, days, wanted, moves) => {
        const rows = { days: days ?? any.days };
        const model = { ...any, ...rows, page: 'honoured', anyLimit: 'honoured', overlap: false } as const;
        expectNothingLost(readWhileMoving(model, wanted, moves));
      }),
      20_000,
    );
  });

  it('G4: a page that is empty because rows left does not end a read, though it stays empty', () => {
    const rows = Array.from({ length: 23 }, (_, day) => day);
    const model = { ...modelOfGrants, days: rows };
    const moves = [
      { beforeRequest: 1, kind: 'go', day: 0, days: 2 },
      { beforeRequest: 2, kind: 'come', day: 0, days: 12 },
      { beforeRequest: 3, kind: 'go', day: 0, days: 1 },
    ] as const;
    expectNothingLost(readWhileMoving(model, 22, moves));
  });

  it('G4: as many rows that come before each request as a page holds do not make pages look ignored', () => {
    const model = {
      ...modelOfGrants,
      maxLimit: 13,
      order: 'descending',
      days: Array.from({ length: 28 }, (_, day) => day),
    } as const;
    const moves = [1, 2].map(
      (beforeRequest) => ({ beforeRequest, kind: 'come', day: 16 + 12 * beforeRequest, days: 12 }) as const,
    );
    expectNothingLost(readWhileMoving(model, 13, moves));
  });

  it('G4: rows that come before each request, in any number, lose nothing when they make pages look ignored', () => {
    const days = Array.from({ length: 20 }, (_, day) => day);
    const model = { ...modelOfGrants, maxLimit: 5, order: 'descending', days } as const;
    const moves = [
      { beforeRequest: 1, kind: 'come', day: 20, days: 4 },
      { beforeRequest: 2, kind: 'come', day: 24, days: 2 },
    ] as const;
    expectNothingLost(readWhileMoving(model, 5, moves));
  });

  it('G4: a read returns every row that stays while others move, when pages or limits are ignored', () => {
    expectForAll(
      fc.property(models, wantedLimits, changes, (any, wanted, moves) => {
        const isPaged = any.page === 'honoured';
        const model = { ...any, anyLimit: isPaged ? 'ignored' : 'honoured', overLimit: 'clamp' } as const;
        fc.pre(isPaged || (model.startBound !== 'ignored' && model.endBound !== 'ignored'));
        expectNothingLost(readWhileMoving(model, wanted, moves));
      }),
      20_000,
    );
  });

  it('a read ends while rows move, with few requests more', () => {
    expectForAll(
      fc.property(models, wantedLimits, changes, (any, wanted, moves) => {
        const model = {
          ...any,
          page: 'honoured',
          anyLimit: 'honoured',
          overlap: false,
          maxLimit: 30,
          startBound: 'inclusive',
          endBound: 'inclusive',
        } as const;
        const { requests } = readWhileMoving(model, wanted, moves);
        const pages = Math.ceil((model.days.length + 12 * moves.length) / wanted);
        expect(requests).toBeLessThanOrEqual(5 * (pages + 3) + pages ** 2 / 2 + 12);
      }),
    );
  });
});
