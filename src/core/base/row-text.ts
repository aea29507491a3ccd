/** Rows of a query as text: of one form, printed or written to a file. */

/** An object in one line, with its end. */
export function ndjsonLine(names: readonly string[], row: readonly unknown[]): string {
  return `${JSON.stringify(Object.fromEntries(names.map((name, position) => [name, row[position]])))}\n`;
}

/** In quotes, so that it is not null. */
const emptyText = { value: '', quoted_empty: true };

/** Options of csv-stringify: a header; null is an empty cell, the empty text `""`, a nested value its JSON. */
export function csvForm(names: readonly string[]) {
  return {
    header: true,
    columns: names.map((header, position) => ({ key: String(position), header })),
    // By default csv-stringify writes a boolean as 1 or nothing.
    cast: { boolean: String, string: (text: string) => (text === '' ? emptyText : text) },
  };
}
