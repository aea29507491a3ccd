import type { CoverageStore } from '../../port/coverage.ts';
import type { SqlDatabase } from '../session.ts';
import { readKnownDays, surveyCoverage } from './coverage-survey.ts';
import { readReachedWatermarks, readStaleWells, readTraces, readUnknownWells } from './well-states.ts';

export function createCoverageStore(database: SqlDatabase): CoverageStore {
  return {
    staleWells: (question) => database.transact((session) => readStaleWells(session, question)),
    reachedWatermarks: (shares) => database.transact((session) => readReachedWatermarks(session, shares)),
    unknownWells: () => database.transact(readUnknownWells),
    traces: (uwis) => database.transact((session) => readTraces(session, uwis)),
    survey: (question, use) => database.transactOnce(async (session) => use(await surveyCoverage(session, question))),
    knownDays: async (uwis) =>
      uwis.length === 0 ? new Map() : database.transact((session) => readKnownDays(session, uwis)),
  };
}
