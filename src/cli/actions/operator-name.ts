import { hostname, userInfo } from 'node:os';

/** The operator of this command, for the ledger: `user@host`. */
export function operatorName(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // A container may run under a user id without a name.
    return `user ${process.getuid?.() ?? 'unknown'}@${hostname()}`;
  }
}
