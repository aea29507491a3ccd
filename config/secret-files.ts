/** The files that hold secrets: those that settings name, and the configuration file where it holds one itself. Pure. */
import { isTree, type Tree } from './yaml-tree.ts';

export interface SecretFile {
  /** `service.tokenFile`, or `the configuration file (service.token)`. */
  readonly called: string;
  readonly file: string;
}

/** Other parts have names of the operator's own: `export.lookbackByWell`, `push.aliases`. */
const parts = ['service', 'redis', 'warehouse', 'alerts'];
const fileName = /^(?:token|password|passphrase|clientSecret|secret|key)File$/;
const plainName = /^(?:token|password|passphrase|clientSecret)$/;
/** May hold a capability in their path or query. */
const secretUrls = ['alerts.url', 'alerts.heartbeatUrl'];
const passwordInUrl = /^\w+:\/\/[^/?#@]*:[^/?#]+@/;

/** `settings`: of all layers. `own`: the configuration file with what it says, whatever a higher layer says. */
export function secretFilesOf(
  settings: Tree,
  own?: { readonly file: string; readonly settings: Tree },
): readonly SecretFile[] {
  const named = textsOf(settings).filter(({ path, beside }) => namesSecret(path, beside));
  const plain = textsOf(own?.settings ?? {}).filter(({ path, text }) => isSecret(path, text));
  const ofOwn = own === undefined || plain[0] === undefined ? [] : [{ file: own.file, path: plain[0].path }];
  return [
    ...named.map(({ path, text }) => ({ called: path.join('.'), file: text })),
    ...ofOwn.map(({ file, path }) => ({ called: `the configuration file (${path.join('.')})`, file })),
  ];
}

/** A certificate without a key beside it holds its key too. */
function namesSecret(path: readonly string[], beside: Tree): boolean {
  const name = path.at(-1) ?? '';
  return fileName.test(name) || (name === 'certFile' && beside['keyFile'] === undefined);
}

function isSecret(path: readonly string[], text: string): boolean {
  return plainName.test(path.at(-1) ?? '') || secretUrls.includes(path.join('.')) || passwordInUrl.test(text);
}

interface Text {
  readonly path: readonly string[];
  readonly text: string;
  readonly beside: Tree;
}

function textsOf(settings: Tree, above: readonly string[] = []): readonly Text[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    if (above.length === 0 && !parts.includes(name)) return [];
    const path = [...above, name];
    if (isTree(value)) return textsOf(value, path);
    return typeof value === 'string' ? [{ path, text: value.trim(), beside: settings }] : [];
  });
}
