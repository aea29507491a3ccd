/** Decides how a figure reads in a message. Pure. */

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** 15,634 */
export function figure(value: number): string {
  return grouped.format(value);
}
