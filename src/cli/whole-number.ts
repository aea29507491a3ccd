/** Reads an option that counts something. */
import { InvalidArgumentError } from 'commander';

/** 1 to 999,999,999. Throws InvalidArgumentError for anything else. */
export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number above 0.');
}
