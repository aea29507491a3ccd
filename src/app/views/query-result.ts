export type { QueryResult } from '../../warehouse/port/query.ts';
