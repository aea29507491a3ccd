import { z } from 'zod';

/** Schemas that settings of several parts share. */
export const text = z.string().trim().min(1);

/** PEM files. */
export const tlsFiles = z
  .strictObject({
    caFile: text.optional(),
    certFile: text.optional(),
    keyFile: text.optional(),
    passphrase: text.optional(),
    passphraseFile: text.optional(),
  })
  .refine(({ certFile, keyFile }) => keyFile === undefined || certFile !== undefined, {
    error: 'is the key of a certificate: name that by certFile',
    path: ['keyFile'],
  })
  .refine(({ passphrase, passphraseFile }) => passphrase === undefined || passphraseFile === undefined, {
    error: 'passphrase and passphraseFile exclude each other',
    path: ['passphraseFile'],
  });
