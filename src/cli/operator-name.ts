/** Finds out who gives a command, for what is kept of it. */
import { hostname, userInfo } from 'node:os';

/** `user@host`. */
export function operatorName(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // A container may run under a number that has no name.
    return `user ${process.getuid?.() ?? 'unknown'}@${hostname()}`;
  }
}
