import { describe, expect, it } from 'vitest';
import { configSchema } from '../../../config/schema.ts';

/** The issues of a configuration, each as `path: message`. */
function issuesOf(config: unknown): readonly string[] {
  const { error } = configSchema.safeParse(config);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

const inMs = {
  service: ['timeoutMs'],
  'service.retry': ['baseDelayMs', 'maxDelayMs', 'deadlineMs'],
  queue: ['baseDelayMs', 'maxDelayMs', 'maxHoldMs'],
  worker: ['graceMs'],
  warehouse: ['lockWaitMs'],
  push: ['checkpointMs'],
};

describe('the configuration', () => {
  it.each(Object.entries(inMs).flatMap(([group, names]) => names.map((name) => `${group}.${name}`)))(
    'bounds %s far below the longest timer',
    (setting) => {
      const at = (value: number): unknown =>
        setting.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
      expect(issuesOf(at(2 ** 31))).toEqual([`${setting}: must be at most 604800000 ms (7 days)`]);
      expect(issuesOf(at(604_800_000))).toEqual([]);
    },
  );

  it.each([0, -1, 0.001, 1e9, Infinity])('refuses %s requests a second', (requestsPerSecond) => {
    expect(issuesOf({ service: { requestsPerSecond } })).toHaveLength(1);
  });
});
