/** Who else can read a file that holds a secret, by its mode. */

interface FileMode {
  /** The permission bits, such as 0o640. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * `group`: other members of its group. A file of root for a group of this process is how secrets are handed out
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
