/** The body of a well. Its form is not documented (docs/interface.md section 4.6): JSON or text. */
import { isTooDeep } from '../base/text.ts';

/** The body as the service sent it. */
export interface WellBody {
  readonly contentType: string | null;
  readonly body: string;
}

/** Whether the body is JSON: its content type is JSON or absent, it parses, and it is no more than 64 levels deep. */
export function isJsonBody({ contentType, body }: WellBody): boolean {
  if (contentType !== null && !/[/+]json\b/i.test(contentType)) return false;
  try {
    return !isTooDeep(JSON.parse(body));
  } catch {
    return false;
  }
}

/**
 * A text that is equal for two bodies with the same content. JSON is compared by value, whatever the order of members
 * and the white space; numbers with more digits than a double holds are compared digit by digit. Any other body is
 * compared as text, with its media type.
 */
export function wellContent(well: WellBody): string {
  const { contentType, body } = well;
  if (!isJsonBody(well)) return `${mediaType(contentType)}\n${body}`;
  return `${sortedJson(JSON.parse(body))}\n${longNumbers(body).join(' ')}`;
}

function mediaType(contentType: string | null): string {
  return (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_name, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : each,
  );
}

const mostSafeDigits = 15;

/** Numbers of a JSON text that a double may not hold exactly, as written. */
function longNumbers(json: string): readonly string[] {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g) ?? [];
  return tokens.filter((token) => !token.startsWith('"') && token.replaceAll(/\D/g, '').length > mostSafeDigits);
}
