/** Decides what a report says of a pushed file besides its counts. Pure. */
import { figure } from '../../core/figure.ts';
import type { FilePosition } from '../../core/pipe-slices.ts';
import type { PushCheckpoint } from '../../core/push-checkpoint.ts';
import type { Counts } from '../../core/run.ts';
import type { PipeHeader } from '../../pipes/header.ts';

/** A sentence each. The same whether a file was pushed or only looked at. */
export function fileNotices(
  header: PipeHeader,
  form: FilePosition['form'],
  { unevenLists, firstRejects, counts }: Pick<PushCheckpoint, 'unevenLists' | 'firstRejects' | 'counts'>,
): readonly string[] {
  return [
    ...(form === 'long' ? ['the file was read in the long form: consecutive rows of one pipe are one item'] : []),
    ...(header.missing.length === 0 ? [] : [`columns that the file does not have: ${header.missing.join(', ')}`]),
    ...(header.ignored.length === 0 ? [] : [`unknown columns, left aside: ${header.ignored.join(', ')}`]),
    ...(unevenLists.count === 0 ? [] : [unevenNotice(unevenLists)]),
    ...firstRejects.map((reject) => `rejected: ${reject}`),
    ...furtherRejects(rejectedRowsOf(counts) - firstRejects.length),
  ];
}

function rejectedRowsOf({ rejectedByUs = 0, rejectedByService = 0, failed = 0 }: Counts): number {
  return rejectedByUs + rejectedByService + failed;
}

function furtherRejects(count: number): readonly string[] {
  if (count <= 0) return [];
  return [`rejected: ${figure(count)} more ${count === 1 ? 'row' : 'rows'}, each in the rejects file with its reason`];
}

function unevenNotice({ count, first }: PushCheckpoint['unevenLists']): string {
  const isAll = count === first.length;
  const whose = count === 1 ? '1 pipe has lists' : `${figure(count)} pipes have lists`;
  return `${whose} of different length, which is allowed: ${first.join(', ')}${isAll ? '' : ', …'}`;
}
