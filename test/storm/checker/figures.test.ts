/** What is shown beside violations: the events near one, and the figures of a storm. */
import { describe, expect, it } from 'vitest';
import type { Evidence } from '../evidence.ts';
import { judge } from './check.ts';
import { type Figures, figures, summary } from './figures.ts';
import { near } from './near.ts';
import { soundEvidence } from './sound/sound-evidence.ts';
import { at, runIds } from './sound/world.ts';

function figuresOf(evidence: Evidence): Figures {
  return figures(evidence, judge(evidence).compared);
}

describe('a report of a storm', () => {
  it('names what happened within some seconds of a violation, in order', () => {
    const lines = near(soundEvidence(), { guarantee: 'G7', what: 'anything', atMs: at(14) });
    expect(lines).toEqual([
      '-2.0 s  request 1 daily W1: reset, 0',
      '+1.0 s  kill of worker-1',
      '+1.2 s  process-ended of worker-1',
    ]);
    expect(near(soundEvidence(), { guarantee: 'G7', what: 'anything', atMs: at(32) })).toEqual([
      `-2.0 s  called push network-pipes pipes.csv: 3, ${runIds.push}`,
    ]);
  });

  it('counts runs, requests, compared cells and pipes, deletions, and the time from a kill to the next request', () => {
    expect(figuresOf(soundEvidence())).toMatchObject({
      runs: { 'export daily-production done': 2, 'push network-pipes done': 1, 'cleanup done': 1 },
      requests: { daily: 6, pipes: 2, 'delete-time-series': 1 },
      faults: { reset: 1 },
      kills: { 'kill worker-1': 1 },
      compared: { rows: 9, cells: 9 * 34, pushes: 1, pipes: 2 },
      deletions: { requests: 2, applied: 1, auditRows: 4 },
      recovery: { 'one, nothing': [600] },
    });
  });

  it('keeps a kill beside an outage apart from one of an undisturbed time', () => {
    const { recovery } = figuresOf(
      soundEvidence((storm) => storm.events.push({ atMs: at(14), untilMs: at(16), kind: 'outage', at: 'service' })),
    );
    expect(recovery).toEqual({ 'one, service': [600] });
  });

  it('adds several storms up', () => {
    const one = figuresOf(soundEvidence());
    const other = { ...one, kills: { 'kill serve': 2 }, recovery: { 'one, nothing': [900, null, 100, 200] } };
    expect(summary([one, other])).toMatchObject({
      storms: 2,
      sums: { kills: { 'kill serve': 2, 'kill worker-1': 1 }, compared: { rows: 18 }, deletions: { applied: 2 } },
      recovery: { 'one, nothing': { kills: 5, medianMs: 200, worstMs: 900, withoutRequest: 1 } },
    });
  });
});
