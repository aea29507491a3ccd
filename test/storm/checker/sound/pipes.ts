/** A file of pipes, what the service ends with of it, and the counts of its push. */
import { createHash } from 'node:crypto';
import type { RecordBody } from '../../evidence.ts';

/** Rows: P1 twice on one date, P2, one that breaks a rule, and one that the service refuses. */
export const pipesCsv = [
  'sourceNetworkId,sourceId,date,upstreamSourceId,downstreamSourceId,enabled,length,trueVerticalDepth,innerDiameter,roughness',
  'N,P1,2026-01-01T00:00:00Z,A,B,true,[1],[2],[3],[4]',
  'N,P1,2026-01-01T00:00:00Z,A,B,false,"[1.5,2]","[2,3]","[3,3]",',
  'N,P2,,B,C,TRUE,[7],[2],[3],[0.1]',
  'N,P3,2026-01-01T00:00:00Z,A,B,perhaps,[1],[2],[3],[4]',
  'N,REFUSED-1,2026-01-01T00:00:00Z,A,B,true,[1],[2],[3],[4]',
  '',
].join('\n');

const network = { sourceNetworkId: 'N' };
const firstPipe = {
  ...network,
  sourceId: 'P1',
  date: '2026-01-01T00:00:00Z',
  upstreamSourceId: 'A',
  downstreamSourceId: 'B',
};
export const pipes: Readonly<Record<string, RecordBody>> = {
  'N/P1': { ...firstPipe, enabled: false, length: [1.5, 2], trueVerticalDepth: [2, 3], innerDiameter: [3, 3] },
  'N/P2': {
    ...network,
    sourceId: 'P2',
    upstreamSourceId: 'B',
    downstreamSourceId: 'C',
    enabled: true,
    length: [7],
    trueVerticalDepth: [2],
    innerDiameter: [3],
    roughness: [0.1],
  },
};
export const pushCounts = {
  rows: 5,
  accepted: 2,
  superseded: 1,
  rejectedByUs: 1,
  rejectedByService: 1,
  failed: 0,
  pipes: 2,
  chunks: 1,
  requests: 2,
};
const reading = { form: 'auto', delimiter: ',', limits: { length: { min: 0 }, innerDiameter: { above: 0 } } };
export const pushParams = {
  name: 'pipes.csv',
  reading,
  content: { sha256: createHash('sha256').update(pipesCsv).digest('hex') },
};
