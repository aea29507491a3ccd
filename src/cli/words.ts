/** Decides how figures, times and foreign text read on a terminal. Pure. */
import { figure } from '../core/figure.ts';

export { figure };

/** `1 well`, `1,200 wells`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${figure(count)} ${count === 1 ? one : many}`;
}

/** `0.4 s`, `12.3 s`, `2 min 05 s`, `1 h 02 min`. */
export function durationText(durationMs: number): string {
  const seconds = durationMs / 1_000;
  return seconds < 59.95 ? `${seconds.toFixed(1)} s` : roughDurationText(durationMs);
}

/** `4 s`, `2 min 05 s`, `1 h 02 min`: for what is only reckoned. */
export function roughDurationText(durationMs: number): string {
  const seconds = Math.round(durationMs / 1_000);
  const twoDigits = (value: number): string => String(value).padStart(2, '0');
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${twoDigits(seconds % 60)} s`;
  return `${Math.floor(seconds / 3_600)} h ${twoDigits(Math.floor((seconds % 3_600) / 60))} min`;
}

/** `2024-03-31 06:15:00Z`: UTC, whatever the zone of the reader. */
export function instantText(instantMs: number): string {
  return `${new Date(instantMs).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

/** `210 bytes`, `420 MB`, `1.2 GB`: decimal units, as disks are sold. */
export function bytesText(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  if (bytes < 1e4) return counted(bytes, 'byte');
  return bytes >= 1e6 ? `${Math.round(bytes / 1e6)} MB` : `${Math.round(bytes / 1e3)} kB`;
}

/** `outsideWindow` reads `outside window`. */
export function spacedName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/** Control characters made visible: foreign text must neither break a table nor steer a terminal. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  return text.replaceAll(/[\u0000-\u001F\u007F-\u009F]/g, (character) => JSON.stringify(character).slice(1, -1));
}

/** An id as it was given, in quotes where it is empty or holds anything that could be taken for a part of the sentence. */
export function quotedUnlessPlain(given: string): string {
  return /^[\w.-]+$/.test(given) ? given : JSON.stringify(given);
}
