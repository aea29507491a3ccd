/** What makes a repeated request known: its key, with a hash of what it asks for. */
import { UsageError } from '../base/errors.ts';

/** A key is unique among the requests of a client to a route. */
export interface IdempotencyKey {
  /** The name of a token or of a user. */
  readonly client: string;
  /** Method and path: `POST /api/v1/runs`. */
  readonly route: string;
  /** As the client gave it. */
  readonly key: string;
  /** Hexadecimal. */
  readonly bodySha256: string;
}

/** The key came before, with another body. Nothing was started. */
export class KeyReusedError extends UsageError {
  override readonly name = 'KeyReusedError';
  override readonly code = 'idempotency-key-reused';

  constructor({ key }: IdempotencyKey, runId: string) {
    super(`the key ${JSON.stringify(key)} came with another body before, which made run ${runId}`, {
      hint: 'Give every request a key of its own; send a request again with the key and the body that it had.',
    });
  }
}
