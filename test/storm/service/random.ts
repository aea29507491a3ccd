/** Numbers drawn from a seed (mulberry32): the same seed draws the same numbers in the same order. */

export interface Random {
  /** At least 0, below 1. */
  next(): number;
  /** A whole number; both ends are possible. */
  integer(from: number, to: number): number;
  /** Throws RangeError for an empty list. */
  pick<T>(list: readonly T[]): T;
  /** True in that share of the draws, 0 to 1. */
  chance(share: number): boolean;
  shuffled<T>(list: readonly T[]): T[];
  /** A stream of its own by seed and name: what one stream draws does not move another. */
  fork(name: string): Random;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_00_00_00_00;
  }

  function integer(from: number, to: number): number {
    return from + Math.floor(next() * (to - from + 1));
  }

  return {
    next,
    integer,
    pick: (list) => {
      if (list.length === 0) throw new RangeError('there is nothing to pick from');
      return list[integer(0, list.length - 1)] as (typeof list)[number];
    },
    chance: (share) => next() < share,
    shuffled: (list) => {
      const drawn = list.map((item) => ({ item, rank: next() }));
      return drawn.toSorted((left, right) => left.rank - right.rank).map(({ item }) => item);
    },
    fork: (name) => createRandom(hashed(name, seed)),
  };
}

/** A whole number of 32 bits for a text (FNV-1a, then mixed), for what depends on a name alone. */
export function hashed(text: string, seed: number): number {
  let hash = (0x81_1c_9d_c5 ^ Math.imul(seed, 0x9e_37_79_b1)) >>> 0;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01_00_01_93) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A random UUID of version 4. */
export function drawnUuid(random: Random): string {
  const digits = Array.from({ length: 4 }, () => random.integer(0, 0xff_ff_ff_ff).toString(16).padStart(8, '0')).join(
    '',
  );
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.*)$/, '$1-$2-4$3-a$4-$5');
}
