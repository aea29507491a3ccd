/** What tells two rows of pipes apart, and which of them may travel together (docs/design.md section 4.3). */

/**
 * By what the service tells pipes apart: `unknown`: by network and source id, or by these and the date; `with-date`: by
 * all three.
 */
export const pipeIdentities = ['unknown', 'with-date'] as const;
export type PipeIdentity = (typeof pipeIdentities)[number];

/** The version of a pipe without a date. */
export const undated = '';

const dateTimeParts = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d(?::?\d\d)?)?$/;

/**
 * The version that a date names: equal for two texts of one instant, to the last digit of a fraction. A date without an
 * offset equals such dates alone, since nothing tells its zone. `text` is a date-time as the reader accepts it.
 */
export function versionOfDate(text: string): string {
  const match = dateTimeParts.exec(text);
  if (match === null) return text;
  const [, day = '', minute = '', second = '00', fraction = '', offset] = match;
  const local = `${day}T${minute}:${second}`;
  const digits = fraction.replace(/0+$/, '');
  const tail = digits === '' ? '' : `.${digits}`;
  if (offset === undefined) return local + tail;
  const instantMs = Date.parse(`${local}Z`) - offsetMs(offset);
  return `${new Date(instantMs).toISOString().slice(0, -'.000Z'.length)}${tail}Z`;
}

function offsetMs(offset: string): number {
  if (offset === 'Z') return 0;
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(3).replace(':', ''));
  return (offset.startsWith('-') ? -minutes : minutes) * 60_000;
}

/** Rows with the same key are sent in the order of the file, one request after the other. */
export function orderKey({ key, version }: { readonly key: string; readonly version: string }, identity: PipeIdentity) {
  return identity === 'with-date' ? `${key}\u0000${version}` : key;
}

/** One pipe a line (`wide`), one segment of a pipe a line (`long`), or detected from the file. */
export type FileForm = 'auto' | 'wide' | 'long';

/** The form by which a pushed content is known: how its file is read, and by what the service tells pipes apart. */
export type PushForm = FileForm | `${FileForm} with-date`;

/** Pushes of earlier versions have the name of their file's form: so has one of a service of unknown identity. */
export function pushFormOf(form: FileForm, identity: PipeIdentity): PushForm {
  return identity === 'with-date' ? `${form} with-date` : form;
}
