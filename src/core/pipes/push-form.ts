/** The form by which a pushed content is known: how its file is read, and by what the service tells pipes apart. */
import type { PipeIdentity } from './pipe-version.ts';

/** One pipe a line (`wide`), one segment of a pipe a line (`long`), or detected from the file. */
export type FileForm = 'auto' | 'wide' | 'long';
export type PushForm = FileForm | `${FileForm} with-date`;

/** Pushes of earlier versions have the name of their file's form: so has one of a service of unknown identity. */
export function pushFormOf(form: FileForm, identity: PipeIdentity): PushForm {
  return identity === 'with-date' ? `${form} with-date` : form;
}
