/** Short storms with PostgreSQL as the warehouse, and each queue. */
import { describeShortStorm } from './short-storm.ts';

for (const queue of ['embedded', 'redis'] as const) describeShortStorm(8, { warehouse: 'postgres', queue });
