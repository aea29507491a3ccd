/** A sample of wells that a seed chooses: the same wells for the same seed and list, in whatever order the list is. */

/** Seeds are whole numbers from 0 to this. */
export const highestSeed = 0xff_ff_ff_ff;

/** `size` of the names, or all where there are fewer, in their order. Names are distinct. */
export function sampleOf(names: readonly string[], size: number, seed: number): readonly string[] {
  if (size >= names.length) return names;
  const ranked = names
    .map((name) => ({ name, rank: rankOf(name, seed) }))
    .toSorted((left, right) => left.rank - right.rank || (left.name < right.name ? -1 : 1));
  const chosen = new Set(ranked.slice(0, size).map(({ name }) => name));
  return names.filter((name) => chosen.has(name));
}

/**
 * FNV-1a over the UTF-16 code units, begun by the seed, then the last steps of MurmurHash3, without which names that differ
 * in their last letters would be near to each other: 32 bits.
 */
function rankOf(name: string, seed: number): number {
  let hash = mixed(seed ^ 0x81_1c_9d_c5);
  for (let index = 0; index < name.length; index += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01_00_01_93);
  }
  return mixed(hash);
}

function mixed(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
