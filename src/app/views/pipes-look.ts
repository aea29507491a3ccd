/** JSON of a dry run of a push. */
import type { ExitCode } from '../../core/run/exit-code.ts';
import type { PipesLook } from '../requests/pipes-dry-run.ts';

export function lookDocument(file: string, look: PipesLook, exitCode: ExitCode) {
  const { counts, balance, notices, rejectsFile, topology } = look;
  return {
    file,
    dryRun: true,
    counts,
    balance,
    rejectsFile: rejectsFile ?? null,
    notices,
    topology: topology ?? null,
    exitCode,
  };
}
