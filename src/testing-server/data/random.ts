/** Reproducible random numbers: the same seed gives the same numbers on every machine. */
import { hash as digestOf } from 'node:crypto';

/** Next number in [0, 1). */
export type Random = () => number;

const TWO_TO_32 = 2 ** 32;

/** FNV-1a hash, 32 bits. */
export function hash32(bytes: Uint8Array, seed = 0): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return mix(hash);
}

/** A generator (mulberry32) whose sequence depends only on `seed`. */
export function createRandom(seed: string): Random {
  let state = hash32(Buffer.from(seed));
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    return mix(state) / TWO_TO_32;
  };
}

/** A number in [0, 1) from a hash: a draw that belongs to the hashed value, not to a sequence. */
export function shareOf(hash: number): number {
  return hash / TWO_TO_32;
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 15), value | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return (mixed ^ (mixed >>> 14)) >>> 0;
}

export function between(random: Random, low: number, high: number): number {
  return low + random() * (high - low);
}

/** A whole number from `low` to `high`, both inclusive. */
export function wholeBetween(random: Random, low: number, high: number): number {
  return Math.floor(between(random, low, high + 1));
}

export function pick<T>(random: Random, choices: readonly [T, ...T[]]): T {
  return choices[Math.floor(random() * choices.length)] ?? choices[0];
}

/** A version 5 style uuid: the same name always gives the same uuid. */
export function derivedUuid(name: string): string {
  const hex = digestOf('sha1', `wellsync testing server\n${name}`);
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
