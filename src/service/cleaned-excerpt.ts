/** The excerpt of a body for messages: one short line without secrets (G10). */
import type { Secrets } from '../core/base/secrets.ts';

const longestExcerpt = 200;
/** Characters examined: more than are ever shown, few enough for the patterns to be fast on a large page. */
const longestLook = 4_000;

const secretName = String.raw`[\w-]*(?:authorization|token|password|passwd|secret|api[_-]?key|credential|session|cookie)[\w-]*`;
const quote = String.raw`(?:\\?["'])?`;

/**
 * Each pattern keeps the text before the secret. Schemes come first, so that their word does not count as the value of
 * a name.
 */
const secrets: readonly RegExp[] = [
  /((?:bearer|basic|digest)\s+)[^\s"'<>,;]+/gi,
  new RegExp(String.raw`(\b${secretName}${quote}\s*[:=]\s*${quote})(?!(?:bearer|basic|digest)\s)[^\s"'<>,;&]+`, 'gi'),
  // User info in an address.
  /(\b\w+:\/\/)[^\s/@]+(?=@)/g,
  // A JSON web token, after any text.
  /()\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g,
];

/** Empty when the body holds no visible text. */
export function cleanedExcerpt(body: string, known: Secrets): string {
  // Secrets are replaced before the cut to what is shown: half a secret would not be recognised.
  const text = known.hideInForeign(body.slice(0, longestLook)).slice(0, longestLook);
  const stripped = secrets.reduce((clean, pattern) => clean.replace(pattern, '$1[hidden]'), text);
  // Control characters could rewrite the operator's terminal.
  const line = stripped.replaceAll(/[\p{C}\s]+/gu, ' ').trim();
  return line.length > longestExcerpt ? `${line.slice(0, longestExcerpt)}…` : line;
}
