/** How the service of a storm behaves where the interface says nothing. */
import type { ServiceManner } from '../evidence.ts';
import type { Random } from './random.ts';

/** Page and limit are honoured in every manner, so that a read can be shown to be complete. */
export function drawnManner(random: Random): ServiceManner {
  return {
    pageBase: random.pick([0, 1] as const),
    mostRowsPerPage: random.chance(0.6) ? random.integer(20, 60) : random.integer(501, 2_000),
    order: random.pick(['ascending', 'descending'] as const),
    endIsInclusive: random.chance(0.5),
    goneAnswer: random.pick(['zero', 'not-found'] as const),
    pipesByDate: random.chance(0.5),
    mostPipes: random.chance(0.5) ? random.integer(40, 150) : random.integer(400, 1_000),
  };
}
