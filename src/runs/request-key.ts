/** The identity of what a run was requested for: two requests with one key ask for the same work. */
import { createHash } from 'node:crypto';
import type { AnyJob } from './job.ts';

/**
 * SHA-256 of the job's name, its checked parameters without those that vary from request to request, and its targets in
 * any order (docs/design.md section 5).
 */
export function requestKey(
  { name, varyingParams = [] }: Pick<AnyJob, 'name' | 'varyingParams'>,
  params: unknown,
  targets: readonly string[],
): string {
  const hash = createHash('sha256').update(JSON.stringify([name, steadyOf(params, varyingParams)]));
  for (const target of targets.toSorted()) hash.update(JSON.stringify(target));
  return hash.digest('hex');
}

/** The members in the order of their names, which does not depend on who built the object. */
function steadyOf(params: unknown, varying: readonly string[]): readonly (readonly [string, unknown])[] {
  return Object.entries(params ?? {})
    .filter(([name, value]) => value !== undefined && !varying.includes(name))
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
}
