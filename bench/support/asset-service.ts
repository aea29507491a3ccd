/** Equipment with time series records that can be deleted: the service of the benchmark of the cleanup. */
import { createServer } from 'node:http';
import { addressOf, answerJson, serve } from './service-process.ts';

export interface AssetOrder {
  readonly equipment: number;
  readonly recordsEach: number;
  /** How long each answer waits. */
  readonly latencyMs: number;
}

export function equipmentId(index: number): string {
  return `EQ 15/9-F-${index}`;
}

export function sourceId(record: number): string {
  return `rate ${record}`;
}

/** Records by equipment, and in it by source id. */
const records = new Map<string, Map<string, object>>();
let latency = 0;

function fill({ equipment, recordsEach, latencyMs }: AssetOrder): void {
  latency = latencyMs;
  records.clear();
  for (let index = 0; index < equipment; index += 1) {
    const of = Array.from({ length: recordsEach }, (_, record) => [sourceId(record), recordOf(index, record)] as const);
    records.set(equipmentId(index), new Map(of));
  }
}

function recordOf(equipment: number, record: number): object {
  const xid = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  return {
    xid: xid(equipment * 1_000 + record),
    equipmentXid: xid(equipment),
    sourceId: sourceId(record),
    measurement: 'OilRate',
    unit: 'Sm3/d',
  };
}

if (process.send !== undefined) {
  const server = createServer((request, response) => {
    const [, , id = '', , record = ''] = addressOf(request).segments;
    const found = records.get(id);
    request.resume();
    const answer = (): void => {
      if (request.method === 'GET') answerJson(response, JSON.stringify([...(found?.values() ?? [])]));
      else answerJson(response, found?.delete(record) === true ? '1' : '0');
    };
    if (latency === 0) answer();
    else setTimeout(answer, latency);
  });
  serve(server, fill);
}
