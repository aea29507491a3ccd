import { Secrets } from '../core/base/secrets.ts';

/** The secrets of this process: the client adds what it reads from files and fetches, and the log shows none of them. */
export const knownSecrets = new Secrets();
