/** When a well is due for a verified read (decision 12). */

/** Most days from one verified read of a well to the next, where runs are made daily. */
export const verifiedWithinDays = 7;

/**
 * Whether a well is due for a verified read: one day in seven is its own, by a hash of its name, so that the wells of
 * one first export do not fall on one night. Due when such a day has begun in (`verifiedDay`, `today`]; day numbers.
 */
export function isVerificationDue(uwi: string, verifiedDay: number, today: number): boolean {
  const sinceOwnDay = (today + hashOf(uwi)) % verifiedWithinDays;
  return today - sinceOwnDay > verifiedDay;
}

/** FNV-1a over UTF-16 code units, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93);
  }
  return hash >>> 0;
}
