/** Files that earlier versions pushed without all dates of their pipes. */
import { counted, instantText } from '../../core/base/text.ts';
import type { DroppedDates } from '../../warehouse/port/pushes.ts';
import type { App } from '../app.ts';
import { type Finding, warning } from './finding.ts';

const part = 'pushed dates';
/** Files that are named; a warehouse may know thousands. */
const mostNamed = 20;

/** One finding a file, the oldest first; none where every date was sent. */
export async function droppedDatesFindings({ warehouse, ledger }: App): Promise<readonly Finding[]> {
  if (!(await warehouse.isStored())) return [];
  const found = await ledger.pushes.droppedDates();
  const named = found.slice(0, mostNamed).map(findingOf);
  if (found.length === named.length) return named;
  const more = counted(found.length - named.length, 'more file was', 'more files were');
  return [...named, warning(part, `${more} pushed so: push these again, and see here which are left`, {})];
}

function findingOf({ runId, name, file, fileSha256, form, rows, completedAtMs }: DroppedDates): Finding {
  const content = name ?? `the content with SHA-256 ${fileSha256}`;
  const left = counted(rows, 'row', 'rows');
  const message = `${content}, pushed by run ${runId}, ${instantText(completedAtMs)}: ${left} went unsent for a later row of the same pipe, whatever the dates`;
  const [fileForm = 'auto'] = (form ?? 'auto').split(' ') as ('auto' | 'wide' | 'long')[];
  return warning(part, message, { action: { kind: 'push-again', file: file ?? 'FILE', form: fileForm } });
}
