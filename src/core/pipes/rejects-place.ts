import type { SharedPlace } from '../base/shared-place.ts';

/** Where the rejected rows of a push lie: in a file of one host, or among the files that several share. */
export type RejectsPlace = { readonly file: string } | { readonly shared: SharedPlace; readonly runId: string };
