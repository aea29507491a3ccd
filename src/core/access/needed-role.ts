/**
 * The role that a run needs of whoever lets it begin: by a start, a retry, a release or a schedule (docs/design.md
 * section 11, G6). Every face asks here.
 */
import type { JobDescription } from '../run/job-description.ts';
import type { Role } from './role.ts';

/**
 * `delete` for a job that deletes at the service, and for parameters that let rows leave the warehouse; else `operate`.
 * `params`: of a run, of a schedule or of a request, checked or not.
 */
export function roleToRun({ deletes }: Pick<JobDescription, 'deletes'>, params: unknown): Role {
  return deletes === true || letsRowsGo(params) ? 'delete' : 'operate';
}

/** An export with `allowShrink`, and a release of held rows. */
function letsRowsGo(params: unknown): boolean {
  if (typeof params !== 'object' || params === null) return false;
  return ('allowShrink' in params && params.allowShrink === true) || 'releaseOf' in params;
}
