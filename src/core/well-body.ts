/** Decides what the body of a well is, whose shape is not shown (INTERFACE.md section 4.6): JSON or not, and whether two say the same. */

/** As it came from the service. */
export interface WellBody {
  readonly contentType: string | null;
  readonly body: string;
}

/** Whether the body is JSON: it says so, or says nothing, and it is. */
export function isJsonBody({ contentType, body }: WellBody): boolean {
  if (contentType !== null && !/[/+]json\b/i.test(contentType)) return false;
  try {
    JSON.parse(body);
    return true;
  } catch {
    return false;
  }
}

/**
 * Equal for two bodies that say the same. JSON is compared by its values, whatever the order of its names and its blanks;
 * numbers with more digits than a double holds are compared digit by digit. Anything else is compared as it came, with
 * its media type.
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

/** The numbers of a JSON text that a double may not hold, as they are written. */
function longNumbers(json: string): readonly string[] {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g) ?? [];
  return tokens.filter((token) => !token.startsWith('"') && token.replaceAll(/\D/g, '').length > mostSafeDigits);
}
