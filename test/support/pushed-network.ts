/** A file of pipes with known faults, and the expected outcome of each row, computed independently of the reader. */

export interface PushedNetwork {
  /** Content of the file. */
  readonly text: string;
  readonly rowCount: number;
  /** The JSON of the last good row of each pipe, by its source id. */
  readonly lastBodies: ReadonlyMap<string, string>;
  /** The invalid lines of the file, by line number. */
  readonly wrongLines: ReadonlyMap<number, string>;
  /** The lines of pipes that the service refuses. */
  readonly refusedLines: ReadonlyMap<number, string>;
  readonly refusedSourceIds: readonly string[];
  /** Corrected versions of both kinds of lines. */
  readonly mendedLines: ReadonlyMap<number, string>;
  /** The JSON of their pipes, by source id. */
  readonly mendedBodies: ReadonlyMap<string, string>;
}

const header =
  'sourceNetworkId,sourceId,date,upstreamSourceId,downstreamSourceId,enabled,length,trueVerticalDepth,innerDiameter,roughness';

interface Pipe {
  readonly id: string;
  readonly version: number;
}

function rowOf({ id, version }: Pipe): string {
  return `N,${id},2024-01-01T00:00:00Z,A-${version},B,true,"[${version}.50,2]","[-38.211669000000001]",[6],`;
}

function bodyOf({ id, version }: Pipe): string {
  const ends = `"upstreamSourceId":"A-${version}","downstreamSourceId":"B"`;
  const lists = `"length":[${version}.50,2],"trueVerticalDepth":[-38.211669000000001],"innerDiameter":[6]`;
  return `{"sourceNetworkId":"N","sourceId":"${id}","date":"2024-01-01T00:00:00Z",${ends},"enabled":true,${lists}}`;
}

/** Each breaks a valid row in its own way. */
const breakers: ReadonlyArray<(row: string) => string> = [
  (row) => row.replace(/^N,/, ','),
  (row) => row.replace(/^N,[^,]+/, 'N,'),
  (row) => row.replace('2024-01-01T00:00:00Z', '2024-02-30T00:00:00Z'),
  (row) => row.replace('true', 'perhaps'),
  (row) => row.replace('.50,2]', '.50,-2]'),
  (row) => row.replace('[6]', '[0]'),
  (row) => row.replace('[6]', '6 inches'),
  (row) => row.replace('.50,2]', '.50,NaN]'),
  (row) => `${row},one cell too many`,
  (row) => row.slice(0, row.lastIndexOf(',')),
  (row) => row.replace(',B,', ',"B,'),
  () => header,
];

/**
 * `rows` rows, of which `wrong` are broken, `refused` are of pipes that the service refuses, and `repeated` are later
 * versions of earlier pipes, near or far.
 */
export function pushedNetwork(counts: {
  readonly rows: number;
  readonly wrong: number;
  readonly refused: number;
  readonly repeated: number;
}): PushedNetwork {
  const { rows, wrong, refused, repeated } = counts;
  const lastBodies = new Map<string, string>();
  const wrongLines = new Map<number, string>();
  const refusedLines = new Map<number, string>();
  const mendedLines = new Map<number, string>();
  const mendedBodies = new Map<string, string>();
  const lines = [header];
  const mended = (line: number, pipe: Pipe): string => {
    mendedLines.set(line, rowOf(pipe));
    mendedBodies.set(pipe.id, bodyOf(pipe));
    return rowOf(pipe);
  };
  for (let index = 0; index < rows; index += 1) {
    const line = index + 2;
    if (isOneOf(wrong, index, rows, 1)) {
      const text = (breakers[wrongLines.size % breakers.length] as (row: string) => string)(
        mended(line, { id: `wrong-${index}`, version: index }),
      );
      wrongLines.set(line, text);
      lines.push(text);
    } else if (isOneOf(refused, index, rows, 3)) {
      const text = mended(line, { id: `refused-${index}`, version: index });
      refusedLines.set(line, text);
      lines.push(text);
    } else {
      const back = isOneOf(repeated, index, rows, 5) ? 1 + ((index * 7919) % Math.max(1, index - 1)) : 0;
      const pipe = { id: `P-${index - back}`, version: index };
      lastBodies.set(pipe.id, bodyOf(pipe));
      lines.push(rowOf(pipe));
    }
  }
  return {
    text: `${lines.join('\n')}\n`,
    rowCount: rows,
    lastBodies,
    wrongLines,
    refusedLines,
    mendedLines,
    mendedBodies,
    refusedSourceIds: [...refusedLines.keys()].map((line) => `refused-${line - 2}`),
  };
}

/** `count` of the indices, spread evenly, apart from those of other kinds. */
function isOneOf(count: number, index: number, rows: number, offset: number): boolean {
  const every = Math.floor(rows / count);
  return index % every === offset && Math.floor(index / every) < count;
}
