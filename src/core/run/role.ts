/** What a client of the HTTP API may do (docs/design.md section 11). */

/** In rising order: each may do what those before it may. */
export const roles = ['read', 'operate', 'delete'] as const;
export type Role = (typeof roles)[number];

export function mayActAs(given: Role, needed: Role): boolean {
  return roles.indexOf(given) >= roles.indexOf(needed);
}
