/** What is wrong with a quarantined record, without the values that it has: the same for all that are wrong alike. Pure. */
import { digestLead, wanted } from './record-check.ts';

const kinds = [...Object.values(wanted), 'a uuid', 'a date-time', 'an object'].join('|');

/** `oilRate is "12 x", not a number`. That one is null or absent is a fault of its own. */
const valued = new RegExp(
  ` is (?!(?:null|absent), ).*?, (not (?:${kinds})|dated in the future)(?:: after [-\\d]+)?(?=; |$)`,
  'g',
);
const sized = /\d[\d,]*(?= (?:characters|bytes|extra fields)\b)/g;
const namedField = /the name of the field .*? (?=is text that|has the character)/g;

/** The cause of a reason that `checkRecord` gave: its fields and their faults. */
export function causeOfReason(reason: string): string {
  const kept = reason.lastIndexOf('; only its first ');
  const faults = kept >= 0 && reason.includes(digestLead, kept) ? reason.slice(0, kept) : reason;
  return faults
    .replaceAll(valued, ' is $1')
    .replaceAll(sized, 'so many')
    .replaceAll(namedField, 'the name of a field ');
}
