/** Generates the file of pipes that the benchmarks read and push. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';

const columns = 'sourceNetworkId,sourceId,date,upstreamSourceId,downstreamSourceId,enabled';
/** Header line of the file. */
export const pipesHeader = `${columns},length,trueVerticalDepth,innerDiameter,roughness\n`;

/** Writes one row per pipe, about 185 bytes, in the wide form, with two depths each. */
export async function generatePipes(file: string, rowCount: number): Promise<void> {
  const out = createWriteStream(file);
  let text = pipesHeader;
  for (let row = 0; row < rowCount; row += 1) {
    const [from, to] = [row % 400_000, (row * 7) % 400_000];
    const depth = -35 - (row % 50);
    text += `BENCH_Network_1,LINK-${row},2020-01-01T00:00:00Z,JUNCTION-${from},JUNCTION-${to},true,`;
    text += `"[${(row % 9000) / 10 + 1}]","[${depth}.507973,-38.211669000000001]","[6.000000]","[140]"\n`;
    if (text.length < 1_000_000) continue;
    if (!out.write(text)) await once(out, 'drain');
    text = '';
  }
  out.end(text);
  await once(out, 'close');
}
