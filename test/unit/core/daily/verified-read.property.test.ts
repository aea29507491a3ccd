/** Mornings of a well whose windows are mostly read with trust in the service's profile. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeDays } from '../../../../src/core/daily/coverage.ts';
import { dueWindow, endOfUndue, type KnownWell } from '../../../../src/core/daily/due-window.ts';
import { isVerificationDue } from '../../../../src/core/daily/reading.ts';
import { type TrustedEnd, readPages } from '../../../../src/core/paging/page-end.ts';
import { askedWindow, DAY_MS, isInside, type Window } from '../../../../src/core/time/window.ts';
import { answerOf, carryOut, type PagingModel } from '../../../support/paging-model.ts';
import { expectForAll } from '../../../support/property-runs.ts';

const holeDays = 20;
const pageRows = 40;
const firstMorning = 1_000;

/** Four in the morning. */
const morning = (day: number): number => day * DAY_MS + DAY_MS / 6;

const profile = {
  pageBase: 1,
  pagingHonoured: true,
  limitHonoured: true,
  defaultLimit: 'unknown',
  maxLimit: pageRows,
  largestPage: 'unknown',
  pastLast: 'empty',
} as const;

/** A row of a day, from the morning on which it comes until the one on which it goes. */
interface ServedRow {
  readonly day: number;
  readonly comesOn: number;
  readonly goesOn: number;
}

interface Service {
  readonly rows: readonly ServedRow[];
  readonly order: PagingModel['order'];
  /** From this morning on it sends few rows on a page, whatever its profile says. */
  readonly cutFrom: number;
}

/** The warehouse's side of one well, by the rules of the port. */
class Well {
  stored: ReadonlySet<number> = new Set();
  requests = 0;
  window: Window = { fromMs: 0, toMs: 0 };
  #watermarkMs: number | undefined;
  #verifiedAtMs: number | undefined;
  readonly #uwi: string;

  constructor(uwi: string) {
    this.#uwi = uwi;
  }

  work(service: Service, today: number): void {
    const nowMs = morning(today);
    const isVerified =
      this.#verifiedAtMs === undefined || isVerificationDue(this.#uwi, Math.floor(this.#verifiedAtMs / DAY_MS), today);
    const rules = { nowMs, timeZone: 'UTC', historyFromMs: 0, lookbackMs: 3 * DAY_MS, holeDays, pageRows, isVerified };
    const due = dueWindow(this.#known(), rules);
    this.window = { fromMs: due.fromMs, toMs: due.toMs };
    this.requests = 0;
    const end = isVerified ? 'proof' : endOfUndue(due, rules);
    const before = due.reach === 'last-day' ? 3 : undefined;
    const first = this.#read(service, today, before, end === 'proof' ? undefined : { leastRows: 1 });
    const lastDay = Math.max(...this.stored);
    const isSilentEnough = end !== 'word-if-silent' || !first.days.some((day) => day > lastDay);
    const takesNothing = this.#inWindow().every((day) => first.days.includes(day));
    const reading =
      first.isVerified || (isSilentEnough && takesNothing) ? first : this.#read(service, today, before, undefined);
    const kept = reading.isVerified ? [...this.stored].filter((day) => !this.#isInWindow(day)) : [...this.stored];
    this.stored = new Set([...kept, ...reading.days]);
    this.#watermarkMs = nowMs;
    if (reading.isVerified) this.#verifiedAtMs = nowMs;
  }

  #known(): KnownWell {
    const days = [...this.stored].filter((day) => day >= firstMorning - 500);
    const cleanDays = mergeDays(days.map((day) => ({ fromDay: day, toDay: day + 1 })));
    return {
      watermarkMs: this.#watermarkMs,
      verifiedAtMs: this.#verifiedAtMs,
      lastDay: this.stored.size === 0 ? undefined : Math.max(...this.stored),
      cleanDays: cleanDays.map((each) => ({ ...each, rows: each.toDay - each.fromDay })),
      heldFromDays: [],
    };
  }

  #isInWindow(day: number): boolean {
    return isInside(this.window, day * DAY_MS);
  }

  #inWindow(): readonly number[] {
    return [...this.stored].filter((day) => this.#isInWindow(day));
  }

  #read(service: Service, today: number, daysBefore: number | undefined, trustedEnd: TrustedEnd | undefined) {
    const window = askedWindow(this.window, daysBefore);
    const pages = readPages({
      window: this.window,
      limits: [pageRows, undefined],
      maxPages: 4_000,
      profile,
      trustedEnd,
    });
    const { end, keys, requests } = carryOut(pages, (ask) =>
      answerOf(modelOf(service, today), { window, ...ask }, heldOn(service, today)),
    );
    if (end.kind === 'fail') throw new Error(`a service at rest could not be read: ${end.failure}`);
    this.requests += requests;
    const days = [...keys].map(Number).filter((day) => this.#isInWindow(day));
    return { days, isVerified: end.isVerified };
  }
}

function heldOn({ rows }: Service, today: number): readonly number[] {
  return rows.filter(({ comesOn, goesOn }) => comesOn <= today && today < goesOn).map(({ day }) => day);
}

function modelOf({ order, cutFrom }: Service, today: number): PagingModel {
  return {
    base: 1,
    below: 'refused',
    pastEnd: 'empty',
    defaultLimit: 5,
    maxLimit: today < cutFrom ? pageRows : 6,
    overLimit: 'clamp',
    anyLimit: 'honoured',
    page: 'honoured',
    startBound: 'inclusive',
    endBound: 'inclusive',
    order,
    overlap: false,
    days: [],
  };
}

const services: fc.Arbitrary<Service> = fc
  .record({
    lives: fc.array(
      fc.record({ delay: fc.integer({ min: 0, max: holeDays - 1 }), goesAfter: fc.constantFrom(9_999, 9_999, 2, 9) }),
      { minLength: 1, maxLength: 50 },
    ),
    order: fc.constantFrom('ascending' as const, 'descending' as const, 'shuffled' as const),
    cutAfter: fc.integer({ min: 0, max: 80 }),
  })
  .map(({ lives, order, cutAfter }) => ({
    rows: lives.map(({ delay, goesAfter }, index) => {
      const day = firstMorning + index;
      return { day, comesOn: day + 1 + delay, goesOn: day + 1 + delay + goesAfter };
    }),
    order,
    cutFrom: firstMorning + cutAfter,
  }));

const mornings = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => firstMorning + index);

describe('mornings where a profile is trusted', () => {
  it('G4: no row that the service holds leaves the warehouse, and none that it does not hold stays in the window', () => {
    expectForAll(
      fc.property(services, fc.string(), (service, uwi) => {
        const well = new Well(uwi);
        for (const today of mornings(90)) {
          const before = well.stored;
          well.work(service, today);
          const held = new Set(heldOn(service, today));
          expect([...before].filter((day) => held.has(day) && !well.stored.has(day))).toEqual([]);
          const inWindow = [...well.stored].filter((day) => isInside(well.window, day * DAY_MS));
          expect(inWindow.filter((day) => !held.has(day))).toEqual([]);
        }
      }),
      150,
    );
  });

  it('a row that comes late is stored within a week, whatever the profile says', () => {
    expectForAll(
      fc.property(services, fc.string(), (service, uwi) => {
        const well = new Well(uwi);
        for (const today of mornings(90)) {
          well.work(service, today);
          const due = service.rows.filter(({ comesOn, goesOn }) => comesOn + 7 <= today && today < goesOn);
          expect(due.filter(({ day }) => !well.stored.has(day))).toEqual([]);
        }
      }),
      150,
    );
  });

  it('a well that was silent for months and then delivers has every day the same morning, from a cut page too', () => {
    const cuts = fc.constantFrom(firstMorning, firstMorning + 9_999);
    const orders = fc.constantFrom('ascending' as const, 'descending' as const);
    const property = fc.property(
      cuts,
      orders,
      fc.integer({ min: holeDays + 2, max: 120 }),
      (cutFrom, order, silentDays) => {
        const row = (day: number, comesOn: number): ServedRow => ({ day, comesOn, goesOn: 99_999 });
        const delivered = firstMorning + 3 + silentDays;
        const rows = Array.from({ length: delivered - firstMorning }, (_, index) => firstMorning + index).map((day) =>
          row(day, day < firstMorning + 3 ? day + 1 : delivered),
        );
        const well = new Well('SILENT');
        for (const today of mornings(silentDays + 4)) well.work({ rows, order, cutFrom }, today);
        expect(well.stored.size).toBe(rows.length);
      },
    );
    expectForAll(property, 50);
  });

  it('takes one request a morning, and one more on one day in seven', () => {
    const rows = mornings(60).map((day) => ({ day, comesOn: day + 1, goesOn: 99_999 }));
    const well = new Well('W');
    const service: Service = { rows, order: 'ascending', cutFrom: 99_999 };
    const counts = mornings(60).map((today) => {
      well.work(service, today);
      return well.requests;
    });
    const settled = counts.slice(-28);
    expect(settled.filter((count) => count === 2)).toHaveLength(4);
    expect(settled.filter((count) => count === 1)).toHaveLength(24);
  });
});

describe('the day of the verified read', () => {
  it('comes once in any seven days, and at the first run after it where runs were left out', () => {
    expectForAll(
      fc.property(fc.string(), fc.integer({ min: 7, max: 40_000 }), (uwi, verifiedDay) => {
        const due = [1, 2, 3, 4, 5, 6, 7, 8, 30].map((later) =>
          isVerificationDue(uwi, verifiedDay, verifiedDay + later),
        );
        const first = due.indexOf(true);
        expect(first).toBeLessThan(7);
        expect(due.slice(first)).not.toContain(false);
        expect(isVerificationDue(uwi, verifiedDay, verifiedDay)).toBe(false);
      }),
    );
  });

  it('is spread over the week', () => {
    const wells = Array.from({ length: 7_000 }, (_, index) => `NO 15/9-F-${index}`);
    for (const today of mornings(7)) {
      const due = wells.filter((uwi) => isVerificationDue(uwi, today - 1, today)).length;
      expect(Math.abs(due - 1_000)).toBeLessThan(250);
    }
  });
});
