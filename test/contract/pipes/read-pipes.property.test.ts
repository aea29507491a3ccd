import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../../src/core/base/errors.ts';
import type { FilePosition } from '../../../src/core/pipes/chunks-in-order.ts';
import type { PipeEntry } from '../../../src/pipes/items.ts';
import { readPipes, type ReadPipesOptions } from '../../../src/pipes/read-pipes.ts';
import { rawText } from '../../../src/pipes/csv-rows.ts';
import { expectForAllAsync } from '../../support/property-runs.ts';
import { bySuite } from '../../support/suite-size.ts';

interface ReadResult {
  readonly entries: readonly PipeEntry[];
  readonly error: string | undefined;
}

async function read(blocks: readonly Buffer[], options: ReadPipesOptions = {}): Promise<ReadResult> {
  const entries: PipeEntry[] = [];
  try {
    const source = { stream: Readable.from(blocks), name: 'the file' };
    for await (const batch of readPipes(source, options)) entries.push(...batch.entries);
    return { entries, error: undefined };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { entries, error: `${error.message} ${error.hint ?? ''}` };
  }
}

/** The result of a read without the buffers, which depend on the blocks of the file. */
function comparable({ entries, error }: ReadResult): unknown {
  return {
    error,
    entries: entries.map((entry) =>
      entry.kind === 'rejected'
        ? entry
        : {
            ...entry,
            rows: entry.rows.map((row) => ({ ...row, window: rawText(row), offset: 0 })),
          },
    ),
  };
}

function split(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

const header =
  'sourceNetworkId,sourceId,date,upstreamSourceId,downstreamSourceId,enabled,length,trueVerticalDepth,innerDiameter,roughness';
const cell = fc.constantFrom(
  'N',
  'A',
  'B',
  'é€😀',
  '',
  '1',
  '2.50',
  '[1,2]',
  '"[1,2]"',
  '1;2',
  '-3',
  '"a""b"',
  '"',
  'a"b',
  '"x"y',
  '"two\nlines"',
  '"two\r\nlines"',
  'true',
  '2020-01-01T00:00:00Z',
  '\r',
  '\u0000',
  'x'.repeat(290),
  'é'.repeat(145),
  `"${'é'.repeat(75)}\n${'é'.repeat(70)}"`,
  ','.repeat(280),
);
const goodRow = fc
  .record({
    id: fc.constantFrom('A', 'B', 'C'),
    length: fc.constantFrom('1', '2', '"[1,2]"', '1;2', ''),
    depth: fc.constantFrom('', '-7.50', 'x'),
  })
  .map(({ id, length, depth }) => `N,${id},2020-01-01T00:00:00Z,u,"d, ""e""",TRUE,${length},${depth},6,`);
const badRow = fc.array(cell, { minLength: 1, maxLength: 11 }).map((cells) => cells.join(','));
const line = fc.oneof(
  { weight: 4, arbitrary: goodRow },
  { weight: 1, arbitrary: badRow },
  { weight: 1, arbitrary: fc.constant('') },
);
const file = fc
  .record({
    bom: fc.boolean(),
    lines: fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 12 }),
    tail: fc.oneof(
      { weight: 6, arbitrary: fc.constant(Buffer.alloc(0)) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)) },
    ),
  })
  .map(({ bom, lines, tail }) => {
    const text = [[header, '\n'], ...lines].flat().join('');
    return Buffer.concat([Buffer.from(`${bom ? '\uFEFF' : ''}${text}`), tail]);
  });
const anyBytes = fc.oneof(
  { weight: 5, arbitrary: file },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
);
const cuts = fc.array(fc.nat(), { maxLength: 8 });
const form = fc.constantFrom('auto', 'wide', 'long' as const);

describe('reading a file of pipes', () => {
  test('any bytes in any blocks give the same items or the same error, packed or not', async () => {
    await expectForAllAsync(
      fc.asyncProperty(anyBytes, cuts, form, async (bytes, places, insisted) => {
        const options = { form: insisted, maxRowBytes: 300 };
        const whole = comparable(await read([bytes], options));
        expect(comparable(await read(split(bytes, places), options))).toEqual(whole);
        expect(
          comparable(
            await read(
              Array.from(bytes, (_, index) => bytes.subarray(index, index + 1)),
              options,
            ),
          ),
        ).toEqual(whole);
        // A file is unpacked once: content that begins as gzip reads differently when it is packed again.
        if (bytes[0] === 0x1f && bytes[1] === 0x8b) return;
        expect(comparable(await read(split(gzipSync(bytes), places), options))).toEqual(whole);
      }),
      bySuite(150, 400),
    );
  });

  test('G2: the entries of a file of pipes are in its order, and hold each row at most once', async () => {
    await fc.assert(
      fc.asyncProperty(file, form, async (bytes, insisted) => {
        const { entries } = await read([bytes], { form: insisted });
        let nextLine = 1;
        for (const entry of entries) {
          expect(entry.rows.length).toBe(entry.rowCount);
          for (const row of entry.rows) {
            expect(row.line).toBeGreaterThanOrEqual(nextLine);
            nextLine = row.line + 1;
          }
          expect(entry.end.line).toBeGreaterThanOrEqual(nextLine);
        }
        const bodies = entries.flatMap((entry) => (entry.kind === 'item' ? [entry.body] : []));
        expect(() => bodies.map((body) => JSON.parse(body) as unknown)).not.toThrow();
      }),
    );
  });

  test('G7: a read from the end of any entry of a file of pipes gives the later entries', async () => {
    await fc.assert(
      fc.asyncProperty(file, cuts, form, fc.nat(), async (bytes, places, insisted, chosen) => {
        const whole = await read([bytes], { form: insisted });
        if (whole.entries.length === 0) return;
        const index = chosen % whole.entries.length;
        const from = whole.entries[index]?.end as FilePosition;
        const rest = await read(split(bytes, places), { form: insisted, from });
        expect(comparable(rest)).toEqual(comparable({ entries: whole.entries.slice(index + 1), error: whole.error }));
      }),
    );
  });
});
