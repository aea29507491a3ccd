/** Owns reading a secret from where the settings say it is. */
import { readFile } from 'node:fs/promises';
import { AccessError } from '../core/errors.ts';
import { fileReason } from '../core/file-fault.ts';
import type { SecretSettings } from './settings.ts';

/** The secret as it stands there; `name` says what it is. Throws AccessError, which never holds the secret (G10). */
export async function readSecret(secret: SecretSettings, name: string): Promise<string> {
  return secret.kind === 'value' ? secret.value : readAccessFile(secret.path, name);
}

/** The text of a file without which the service does not let us in. */
export async function readAccessFile(path: string, name: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new AccessError('access-file', `${name} file ${path} cannot be read: ${fileReason(error)}`, {
      hint: 'Check the path and who may read the file.',
      cause: error,
    });
  });
}
