/** JSON on its way to an engine. */

/** A JSON text as a value of a statement. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = wellFormed(text);
  }
}

/** The JSON text of any value. */
export function jsonText(value: unknown): JsonText {
  return new JsonText(JSON.stringify(value));
}

/**
 * JSON text without lone surrogates, which JSON allows as escapes and the engines refuse: one of them would fail the whole
 * batch, every time. An escaped backslash before `ud800` stays.
 */
export function wellFormed(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replaceAll(/\\u(?:d[89ab][\da-f]{2}\\ud[c-f][\da-f]{2})|\\\\|\\ud[89a-f][\da-f]{2}/gi, (escape) =>
    escape.length === 6 ? '\\ufffd' : escape,
  );
}
