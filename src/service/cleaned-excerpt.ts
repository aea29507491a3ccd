/** Decides how much of a body may be shown: one short line, without anything that looks like a secret (G10). */

const longestExcerpt = 200;
/** More than is ever shown, less than what would make the patterns slow on a large page. */
const longestLook = 4_000;

const secretName = String.raw`[\w-]*(?:authorization|token|password|passwd|secret|api[_-]?key|credential|session|cookie)[\w-]*`;
const quote = String.raw`(?:\\?["'])?`;

/** Each keeps what goes before the secret. The schemes come first: their word must not pass for the value of a name. */
const secrets: readonly RegExp[] = [
  /((?:bearer|basic|digest)\s+)[^\s"'<>,;]+/gi,
  new RegExp(String.raw`(\b${secretName}${quote}\s*[:=]\s*${quote})(?!(?:bearer|basic|digest)\s)[^\s"'<>,;&]+`, 'gi'),
  // User info in an address.
  /(\b\w+:\/\/)[^\s/@]+(?=@)/g,
  // A JSON web token, whatever stands before it.
  /()\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g,
];

/** `hidden` are secrets known to be in use. Empty where the body shows nothing. */
export function cleanedExcerpt(body: string, hidden: readonly string[]): string {
  // Before the cut: half a secret would no longer be known for one.
  const known = hidden.flatMap(spellings).reduce((text, secret) => text.replaceAll(secret, '[hidden]'), body);
  const stripped = secrets.reduce((text, pattern) => text.replace(pattern, '$1[hidden]'), known.slice(0, longestLook));
  // Control characters could rewrite the operator's terminal.
  const line = stripped.replaceAll(/[\p{C}\s]+/gu, ' ').trim();
  return line.length > longestExcerpt ? `${line.slice(0, longestExcerpt)}…` : line;
}

/** As it is, and as JSON and an address may write it. */
function spellings(secret: string): readonly string[] {
  return [secret, secret.replaceAll('/', '\\/'), encodeURIComponent(secret)];
}
