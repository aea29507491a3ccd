/** How secrets are kept and sent: files that others can read, and a token that goes over plain http. */
import { stat } from 'node:fs/promises';
import type { Config } from '../../../config/schema.ts';
import type { SecretFile } from '../../../config/secret-files.ts';
import { secretReadersOf } from '../../core/access/secret-readers.ts';
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
  if (protocol !== 'http:' || isLoopbackHost(hostname.replace(/^\[(.*)\]$/, '$1'))) return [];
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
