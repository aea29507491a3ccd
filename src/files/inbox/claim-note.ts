/** What is kept beside a file of an inbox that was taken, as JSON. */
import { z } from 'zod';
import type { Sighting } from '../../core/inbox/arrival.ts';

export interface ClaimNote {
  /** The name under which the file came. */
  readonly name: Buffer;
  /** How the file looked when it had stopped changing. */
  readonly settled: Sighting | undefined;
  /** Id of its run, which may not exist yet. */
  readonly runId?: string;
}

/** A name need not be UTF-8: base64 keeps its bytes. */
const noteSchema = z.object({
  nameBase64: z.base64().min(1),
  settled: z.object({ inode: z.string(), bytes: z.number(), changedAtNs: z.string() }).optional(),
  runId: z.string().optional(),
});

export function claimText({ name, ...rest }: ClaimNote): string {
  return `${JSON.stringify({ name: name.toString('utf8'), nameBase64: name.toString('base64'), ...rest })}\n`;
}

/** A note that is missing or damaged loses the name of the file alone. */
export function claimOf(text: string | undefined): ClaimNote {
  const found = text === undefined ? undefined : noteSchema.safeParse(parsed(text)).data;
  if (found === undefined) return { name: Buffer.from('input.csv'), settled: undefined };
  const { nameBase64, settled, runId } = found;
  const name = Buffer.from(nameBase64, 'base64');
  // A name with a slash would lead out of the folder.
  const isName = !name.includes('/') && !name.includes(0) && !['.', '..'].includes(name.toString());
  return { name: isName ? name : Buffer.from('input.csv'), settled, ...(runId !== undefined && { runId }) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
