/** Reads secrets from their files, and remembers each, so that no text shows it (G10). */
import { readFile } from 'node:fs/promises';
import { AccessError } from '../core/base/errors.ts';
import { fileReason } from '../core/base/file-fault.ts';
import type { Secrets } from '../core/base/secrets.ts';
import type { SecretSettings } from './settings.ts';

/**
 * Reads a secret, without white space around it, and adds it to `secrets`. `name` names it in messages. Throws
 * AccessError, which never holds the secret (G10).
 */
export async function readSecret(secret: SecretSettings, name: string, secrets: Secrets): Promise<string> {
  const text = secret.kind === 'value' ? secret.value : await readAccessFile(secret.path, name);
  secrets.add(text);
  return text.trim();
}

/** The text of a file needed for access to the service. Throws AccessError when it cannot be read. */
export async function readAccessFile(path: string, name: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new AccessError('access-file', `${name} file ${path} cannot be read: ${fileReason(error)}`, {
      hint: 'Check the path and who may read the file.',
      cause: error,
    });
  });
}
