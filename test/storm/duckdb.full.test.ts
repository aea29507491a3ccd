/** Short storms with a DuckDB file as the warehouse, and each queue. */
import { describeShortStorm } from './short-storm.ts';

for (const queue of ['embedded', 'redis'] as const) describeShortStorm(7, { warehouse: 'duckdb', queue });
