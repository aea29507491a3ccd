/** Notices in the report of a pushed file. Pure. */
import { counted, figure } from '../../../src/core/base/text.ts';
import type { FilePosition } from '../../../src/core/pipes/chunk-cutter.ts';
import type { PushCheckpoint } from '../../../src/core/pipes/checkpoint.ts';
import { rejectedOf } from '../../../src/core/run/job-description.ts';
import { networkPipes } from '../description.ts';
import type { PipeHeader } from '../../../src/pipes/header.ts';

/** A sentence each; for a push and a dry run. */
export function fileNotices(
  header: PipeHeader,
  form: FilePosition['form'],
  { firstRejects, counts }: Pick<PushCheckpoint, 'firstRejects' | 'counts'>,
): readonly string[] {
  return [
    ...(form === 'long' ? ['the file was read in the long form: consecutive rows of one pipe are one item'] : []),
    ...(header.missing.length === 0 ? [] : [`columns that the file does not have: ${header.missing.join(', ')}`]),
    ...(header.ignored.length === 0 ? [] : [`unknown columns, ignored: ${firstNames(header.ignored)}`]),
    ...firstRejects.map((reject) => `rejected: ${reject}`),
    ...furtherRejects(rejectedOf(networkPipes, counts) - firstRejects.length),
  ];
}

function furtherRejects(count: number): readonly string[] {
  if (count <= 0) return [];
  return [`rejected: ${counted(count, 'more row')}, each in the rejects file with its reason`];
}

const mostNamesShown = 20;

/** A file may have half a million columns. */
function firstNames(names: readonly string[]): string {
  const more = names.length - mostNamesShown;
  return `${names.slice(0, mostNamesShown).join(', ')}${more > 0 ? ` and ${figure(more)} more` : ''}`;
}

/** For a dry run alone: real networks have such pipes by the thousand (two elevations, one length). */
export function unevenNotices({ count, first }: PushCheckpoint['unevenLists']): readonly string[] {
  if (count === 0) return [];
  const whose = counted(count, 'pipe has lists', 'pipes have lists');
  return [`${whose} of different length, which is allowed: ${first.join(', ')}${count === first.length ? '' : ', …'}`];
}
