/** Owns the look at the files that let wellsync in at the service: a missing one is told before anything is started. */
import { readFile } from 'node:fs/promises';
import type { Config } from '../../config/schema.ts';
import { UsageError } from '../core/errors.ts';
import { fileReason } from '../core/file-fault.ts';

interface SecretFile {
  /** As an operator sets it. */
  readonly setting: string;
  readonly path: string;
}

/** Every file with a secret or a certificate that the configuration names. */
function secretFilesOf({ service: { tokenFile, oauth, tls } }: Config): readonly SecretFile[] {
  const named = {
    'WELLSYNC_SERVICE_TOKEN_FILE (service.tokenFile)': tokenFile,
    'service.oauth.clientSecretFile': oauth?.clientSecretFile,
    'service.tls.caFile': tls?.caFile,
    'service.tls.certFile': tls?.certFile,
    'service.tls.keyFile': tls?.keyFile,
    'service.tls.passphraseFile': tls?.passphraseFile,
  };
  return Object.entries(named).flatMap(([setting, path]) => (path === undefined ? [] : [{ setting, path }]));
}

/** Throws UsageError with every file that cannot be read or is empty; what a file holds is not shown (G10). */
export async function checkSecretFiles(config: Config): Promise<void> {
  const faults = await Promise.all(secretFilesOf(config).map(faultOf));
  const issues = faults.filter((fault) => fault !== undefined);
  if (issues.length === 0) return;
  throw new UsageError('what lets wellsync in at the service cannot be read', {
    issues,
    hint: 'Check the paths, and that this user may read the files.',
  });
}

async function faultOf({ setting, path }: SecretFile): Promise<string | undefined> {
  try {
    const content = await readFile(path, 'utf8');
    return content.trim() === '' ? `${setting}: the file ${path} is empty` : undefined;
  } catch (error) {
    return `${setting}: the file ${path} cannot be read: ${fileReason(error)}`;
  }
}
