/** The order of the files: one project after the other, so that its processes go on with its next file. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those with the longest files first, since a long file that begins last runs alone at the end. */
const projects = ['unit', 'fault', 'contract', 'integration', 'repository'];

export class ProjectSequencer extends BaseSequencer {
  /** Within a project as vitest sorts them: those first that failed or took long the last time. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const byFile = super.sort.bind(this);
    return (await byFile(files)).toSorted((left, right) => positionOf(left) - positionOf(right));
  }
}

function positionOf({ project }: TestSpecification): number {
  return projects.indexOf(project.name);
}
