import type { PushCheckpoint, SettledChunk } from '../../core/pipes/checkpoint.ts';
import type { PipeKey, PushForm } from '../../core/pipes/pipe.ts';
import type { Counts, UnitOutcome } from '../../core/run/run.ts';

export interface PushedChunk extends SettledChunk {
  /** From 0, in the order of their first lines. */
  readonly chunk: number;
}

/** A push of an earlier version that sent the last date of a pipe and left others out, or may have. */
export interface DroppedDates {
  readonly runId: string;
  /** The name and the path of the file, as they were given; undefined once the run is no longer kept. */
  readonly name: string | undefined;
  readonly file: string | undefined;
  readonly fileSha256: string;
  readonly form: PushForm | undefined;
  readonly rows: number;
  readonly completedAtMs: number;
}

/** The newest finished or running push of a content. */
export interface KnownPush {
  readonly runId: string;
  /** `done`: pushed to the end of the file. `under-way`: a worker has begun, and the run has not ended. */
  readonly state: 'done' | 'under-way';
  readonly atMs: number;
}

/**
 * Permission to push. `begun`: this run pushes, and saves with its fence. `waits`: another run, which claimed the
 * content at `claimedAtMs`, is pushing it. `pushed`: another run has pushed it to the end; `counts`
 * are those of its last checkpoint, which may outlive the run, and `sent` those of this run's own checkpoint: empty before
 * the first one, absent if this run never began to push.
 */
export type PushStart =
  | { readonly kind: 'begun'; readonly fence: number; readonly checkpoint: PushCheckpoint }
  | { readonly kind: 'waits'; readonly runId: string; readonly claimedAtMs: number }
  | { readonly kind: 'pushed'; readonly runId: string; readonly counts: Counts; readonly sent?: Counts };

/** What a step changes of the rows that are an alert of a file. */
export interface RejectsStep {
  /** The file by which the rejects of the push are an alert. */
  readonly file: string;
  /** Rows that were rejected; without a key where it cannot be read. */
  readonly rejected: ReadonlyArray<{ readonly key: PipeKey | undefined; readonly rows: number }>;
  /** Keys that earlier pushes rejected, and the service has accepted now. */
  readonly brought: readonly PipeKey[];
}

export interface PushStore {
  /**
   * Claims the content for the run, and takes its push over from any earlier worker: from now on only the holder of the
   * returned `fence` saves. `checkpoint` is the last saved one. A content belongs to one run at a time, by service and
   * form, until that run ends; a run that failed or was cancelled loses it to the next one.
   */
  begin(push: {
    readonly runId: string;
    readonly unit: number;
    readonly fileSha256: string;
    /** Address of the service, without secrets. */
    readonly serviceUrl: string;
    /** The requested form of the file, with the identity of pipes. */
    readonly form: PushForm;
    /** Pushes even a content that others have pushed or are pushing. */
    readonly isAgain: boolean;
    readonly begunAtMs: number;
  }): Promise<PushStart>;
  /**
   * Saves checkpoint, chunks and the counts of the unit in one transaction; with `settled` the push is complete, and
   * its unit done. Throws AbortedError and saves nothing if another worker has begun since.
   */
  save(step: {
    readonly runId: string;
    readonly unit: number;
    readonly fence: number;
    readonly checkpoint: PushCheckpoint;
    readonly chunks: readonly PushedChunk[];
    readonly rejects?: RejectsStep;
    readonly settled?: UnitOutcome;
    readonly savedAtMs: number;
  }): Promise<void>;
  /** What pushes before this run rejected, and no later one brought: the keys that can be read, at most 200,000. */
  lacking(runId: string): Promise<readonly PipeKey[]>;
  /**
   * The push of this content, in this form and to this service, that makes another one needless; undefined without one.
   */
  find(wanted: {
    readonly fileSha256: string;
    /** Address of the service; undefined for any service. */
    readonly serviceUrl: string | undefined;
    /** Key of the service (G11), if it differs from the address. */
    readonly service?: string;
    readonly form: PushForm;
  }): Promise<KnownPush | undefined>;
  /**
   * Contents whose last push was by the rule of earlier versions, and left rows out: of two rows of one pipe in a
   * request the last went, whatever their dates. The oldest first.
   */
  droppedDates(): Promise<readonly DroppedDates[]>;
  /** The largest body that the service was found to accept, in UTF-8 bytes, if it was found since `sinceMs`. */
  bodyLimit(serviceUrl: string, sinceMs: number): Promise<number | undefined>;
  recordBodyLimit(limit: {
    readonly serviceUrl: string;
    readonly maxBytes: number;
    readonly foundAtMs: number;
  }): Promise<void>;
}
