/** How a testing server that is told so deals with deletions. */
import { describe, expect, test } from 'vitest';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { json, statusOf } from '../support/testing-server-requests.ts';

const assets = { equipment: { E: [{ sourceId: 'S' }] }, wells: { W: { microStrings: 2, wellbores: 1 } } };
const remove = { method: 'DELETE' };

describe('deletions', () => {
  test('are answered 403 for what may not be deleted, and take no effect', async () => {
    await using server = await startTestingServer({ assets, forbiddenDeletions: ['W'] });
    expect(await statusOf(`${server.url}/api/production/well/W/wellbore`, remove)).toBe(403);
    expect(server.state.deletions()).toEqual([]);
  });

  test('are answered 200 where they are idle, and what they were for is still there', async () => {
    await using server = await startTestingServer({ assets, idleDeletions: ['E'] });
    const records = `${server.url}/api/production/netx/equipment/E/time-series`;
    expect(await statusOf(`${records}/S`, remove)).toBe(200);
    expect(await json(records)).toEqual([{ sourceId: 'S' }]);
    expect(server.state.deletions()).toEqual([]);
  });
});
