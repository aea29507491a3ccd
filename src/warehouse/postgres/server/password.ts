import { readFile } from 'node:fs/promises';
import { UnreachableError } from '../../../core/base/errors.ts';
import { fileReason } from '../../../core/base/file-fault.ts';
import type { Secrets } from '../../../core/base/secrets.ts';
import type { PostgresAddress } from './postgres-address.ts';

export interface PasswordSettings {
  readonly password?: string | undefined;
  /** Goes before {@link password}. */
  readonly passwordFile?: string | undefined;
}

/**
 * Reads the password of an address: its own, else that of the file, else the given one. The file is read at each call, so
 * that a new password is taken without a restart. Throws UnreachableError if it cannot be read; no error shows a password.
 */
export function passwordReader(
  { location, password: own }: PostgresAddress,
  { password, passwordFile, secrets }: PasswordSettings & { readonly secrets?: Secrets },
): () => Promise<string | undefined> {
  for (const known of [own, password]) secrets?.add(known);
  return async () => {
    if (own !== undefined || passwordFile === undefined) return own ?? password;
    const text = await readFile(passwordFile, 'utf8').catch((error: unknown) => {
      throw new UnreachableError(
        'warehouse',
        `the password file ${passwordFile} of ${location} cannot be read: ${fileReason(error)}`,
        {
          hint: 'Check the path in WELLSYNC_WAREHOUSE_PASSWORD_FILE or warehouse.passwordFile, and who may read the file.',
        },
      );
    });
    secrets?.add(text);
    return text.trimEnd();
  };
}
