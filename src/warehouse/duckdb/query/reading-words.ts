/** What the words of a statement show before DuckDB prepares it: preparing alone may act. Pure. */

/** EXPORT DATABASE makes its folder when it is prepared, so the type of a prepared statement comes too late. */
const readingWords = /^(?:SELECT|WITH|FROM|VALUES|TABLE|SHOW|DESCRIBE|DESC|SUMMARIZE|PIVOT|UNPIVOT)\b|^\(/i;

/** Whether it begins as a statement that reads. */
export function beginsAsReading(sql: string): boolean {
  return readingWords.test(withoutLead(sql));
}

/** Without the spaces and comments before the first word, as the engine takes them: a carriage return ends a line too. */
function withoutLead(sql: string): string {
  const rest = sql.replace(/^(?:\s+|--[^\n\r]*(?:[\n\r]|$))+/, '');
  return rest.startsWith('/*') ? withoutLead(rest.slice(endOfComment(rest))) : rest;
}

/** The place after the comment that the text begins with: comments in brackets nest. */
function endOfComment(text: string): number {
  let depth = 0;
  for (const { 0: bracket, index } of text.matchAll(/\/\*|\*\//g)) {
    depth += bracket === '/*' ? 1 : -1;
    if (depth === 0) return index + bracket.length;
  }
  return text.length;
}

/**
 * Functions that DuckDB counts as reading and that act: on the settings and logs of the engine, which write files, or by
 * running a statement that stands in a text, where no look at the words helps.
 */
const actingFunctions = [
  'enable_logging',
  'disable_logging',
  'truncate_duckdb_logs',
  'enable_profiling',
  'disable_profiling',
  'enable_peg_parser',
  'disable_peg_parser',
  'checkpoint',
  'force_checkpoint',
  'query',
  'json_execute_serialized_sql',
  'write_log',
];

/** Behind a schema or not, in quotes or not; a comment may stand before the bracket, and counts as one. */
const actingCall = new RegExp(String.raw`(?<!\w)(${actingFunctions.join('|')})"?\s*(?:\(|--|/\*)`, 'i');

/** The first function in the text that acts; undefined without one. Text in quotes counts: it is rare, and safe. */
export function actingFunctionIn(sql: string): string | undefined {
  return actingCall.exec(sql)?.[1]?.toLowerCase();
}
