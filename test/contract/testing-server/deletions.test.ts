import { describe, expect, test } from 'vitest';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { json, statusOf } from '../../support/testing-server-requests.ts';

const assets = { equipment: { E: [{ sourceId: 'S' }] }, wells: { W: { microStrings: 2, wellbores: 1 } } };
const remove = { method: 'DELETE' };

describe('deletions', () => {
  test('a forbidden deletion is answered 403 and has no effect', async () => {
    await using server = await startTestingServer({ assets, forbiddenDeletions: ['W'] });
    expect(await statusOf(`${server.url}/api/production/well/W/wellbore`, remove)).toBe(403);
    expect(server.state.deletions()).toEqual([]);
  });

  test('an idle deletion is answered 200 and removes nothing', async () => {
    await using server = await startTestingServer({ assets, idleDeletions: ['E'] });
    const records = `${server.url}/api/production/netx/equipment/E/time-series`;
    expect(await statusOf(`${records}/S`, remove)).toBe(200);
    expect(await json(records)).toEqual([{ sourceId: 'S' }]);
    expect(server.state.deletions()).toEqual([]);
  });
});
