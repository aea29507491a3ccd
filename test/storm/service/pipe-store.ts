/** The network pipes that the service has. A body is taken whole or not at all. */
import type { RecordBody, ServiceManner } from '../evidence.ts';
import { hashed, type Random } from './random.ts';

export interface PipesAnswer {
  readonly status: 200 | 400 | 413;
  /** The pipes of a body that was applied. */
  readonly pipes?: readonly RecordBody[];
  readonly refused?: { readonly items: number; readonly sourceIds: readonly string[] };
}

export class PipeStore {
  readonly #manner: Pick<ServiceManner, 'pipesByDate' | 'mostPipes'>;
  readonly #pipes = new Map<string, RecordBody>();
  readonly #refusedShare: number;
  readonly #salt: number;

  constructor(manner: Pick<ServiceManner, 'pipesByDate' | 'mostPipes'>, random: Random) {
    this.#manner = manner;
    this.#refusedShare = 0.002 + random.next() * 0.01;
    this.#salt = random.integer(0, 0xff_ff_ff);
  }

  /** By `network/source`, or `network/source/date` where the manner has one row a pipe and date; see {@link keyOf}. */
  get pipes(): Readonly<Record<string, RecordBody>> {
    return Object.fromEntries(this.#pipes);
  }

  /** Whether every body with a pipe of this source id is refused: a drawn share of the ids, always the same ones. */
  isRefused(sourceId: string): boolean {
    return hashed(sourceId, this.#salt) / 0x1_00_00_00_00 < this.#refusedShare;
  }

  /** Applies a body in its order. 413: too many pipes; 400: one that is refused, or no array of pipes. */
  take(body: string): PipesAnswer {
    const pipes = pipesOf(body);
    if (pipes === undefined) return { status: 400, refused: { items: 0, sourceIds: [] } };
    const sourceIds = pipes.map(({ sourceId }) => sourceId as string).filter((id) => this.isRefused(id));
    const refused = { items: pipes.length, sourceIds };
    if (pipes.length > this.#manner.mostPipes) return { status: 413, refused };
    if (sourceIds.length > 0) return { status: 400, refused };
    for (const pipe of pipes) this.#pipes.set(keyOf(pipe, this.#manner), pipe);
    return { status: 200, pipes };
  }
}

/** The date is that of its instant in UTC (`toISOString`) if it has an offset; otherwise its text, empty for none. */
function keyOf(pipe: RecordBody, { pipesByDate }: Pick<ServiceManner, 'pipesByDate'>): string {
  const key = `${String(pipe['sourceNetworkId'])}/${String(pipe['sourceId'])}`;
  if (!pipesByDate) return key;
  const date = typeof pipe['date'] === 'string' ? pipe['date'] : '';
  const hasOffset = /T.*(?:Z|[+-]\d\d:?\d\d)$/.test(date);
  const instantMs = hasOffset ? Date.parse(date.replace(/([+-]\d\d)(\d\d)$/, '$1:$2')) : Number.NaN;
  return `${key}/${Number.isNaN(instantMs) ? date : new Date(instantMs).toISOString()}`;
}

function pipesOf(body: string): readonly RecordBody[] | undefined {
  try {
    const value = JSON.parse(body) as unknown;
    return Array.isArray(value) && value.every(isPipe) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isPipe(value: unknown): value is RecordBody {
  const pipe = value as RecordBody | null;
  return typeof pipe?.['sourceNetworkId'] === 'string' && typeof pipe['sourceId'] === 'string';
}
