/** Secrets: files that others can read, a token that goes over plain http, and tokens of the HTTP API that end. */
import { stat } from 'node:fs/promises';
import type { Config } from '../../../config/schema.ts';
import type { SecretFile } from '../../../config/secret-files.ts';
import type { HttpSettings } from '../../../config/http-settings.ts';
import { fewDaysLeft } from '../../core/run/token-expiry.ts';
import { counted } from '../../core/base/text.ts';
import { isLoopbackHost } from '../access/access.ts';
import { type Finding, warning } from './finding.ts';

const part = 'secrets';

/** Warnings alone: none where secrets are kept and sent as they should be. */
export async function secretFindings(config: Config): Promise<readonly Finding[]> {
  const ofFiles = await Promise.all(config.secretFiles.map(fileFinding));
  return [...plainHttpFindings(config), ...ofFiles.filter((finding) => finding !== undefined)];
}

/** A token that is had from an https address goes over http to the service all the same. */
function plainHttpFindings({ service: { url, token, tokenFile, oauth } }: Config): readonly Finding[] {
  const hasToken = [token, tokenFile, oauth].some((way) => way !== undefined);
  return [
    ...(hasToken ? plainHttpFinding('the token', 'service.url', url) : []),
    ...plainHttpFinding('the client secret', 'service.oauth.tokenUrl', oauth?.tokenUrl),
  ];
}

function plainHttpFinding(secret: string, setting: string, url: string | undefined): readonly Finding[] {
  if (url === undefined || !URL.canParse(url)) return [];
  const { protocol, hostname, host } = new URL(url);
  if (protocol !== 'http:' || isLoopbackHost(hostname)) return [];
  const message = `${secret} goes to ${host} over plain http: whoever is on the way can read it`;
  return [warning(part, message, { hint: `Use https in ${setting}.` })];
}

/** None for a file that cannot be looked at, which the parts that need it tell, and none on Windows, which has no modes. */
async function fileFinding({ called, file }: SecretFile): Promise<Finding | undefined> {
  const { getuid, getegid, getgroups } = process;
  if (getuid === undefined || getegid === undefined || getgroups === undefined) return undefined;
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() !== true) return undefined;
  const readers = secretReadersOf(found, [getegid(), ...getgroups()]);
  if (readers === undefined) return undefined;
  const who = readers === 'everybody' ? 'every user of this host' : 'every member of its group';
  const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
  const uid = getuid();
  const owner = uid === 0 || found.uid === uid ? undefined : uid;
  return warning(part, `${file} (${called}) can be read by ${who}: its mode is ${mode}`, {
    action: { kind: 'protect-file', file, owner },
  });
}

interface FileMode {
  /** The permission bits, such as 0o640. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Who else can read a file that holds a secret, by its mode; `group`: other members of its group. A file of root for a group of this process is how secrets are handed out
 * (Kubernetes mounts them so with fsGroup, and /etc keeps them so): no reader too many.
 */
export function secretReadersOf(
  { mode, uid, gid }: FileMode,
  ownGroups: readonly number[],
): 'everybody' | 'group' | undefined {
  if ((mode & 0o004) !== 0) return 'everybody';
  const isHandedOut = uid === 0 && ownGroups.includes(gid);
  return (mode & 0o040) !== 0 && !isHandedOut ? 'group' : undefined;
}

/** One for each token of the HTTP API that has expired, or expires within 14 days: whoever uses it needs another in time. */
export function tokenFindings({ tokens }: Pick<HttpSettings, 'tokens'>, nowMs: number): readonly Finding[] {
  return tokens.flatMap((token) => {
    const days = fewDaysLeft(token, nowMs);
    if (days === undefined) return [];
    const { name, role, expires = '' } = token;
    const message =
      days === 0
        ? `the token ${name} of http.tokens expired with ${expires} (UTC): it lets nobody in`
        : `the token ${name} of http.tokens expires with ${expires} (UTC), ${days === 1 ? 'today' : `in ${counted(days - 1, 'day')}`}`;
    return [warning('tokens', message, { action: { kind: 'replace-token', name, role } })];
  });
}
