/** How slowly an upload may come, by a clock of the test. */
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { UploadMeter } from '../../../src/console/api/pushes.ts';

const halfMinuteMs = 30_000;

/** Writes what each half minute brings, and reads it or not; resolves with the fault, or undefined. */
async function faultOf(brought: readonly number[], { isRead = true } = {}): Promise<Error | undefined> {
  let fault: Error | undefined;
  const meter = new UploadMeter(10_000_000).on('error', (error) => (fault = error));
  if (isRead) meter.resume();
  for (const bytes of brought) {
    if (bytes > 0) meter.write(Buffer.alloc(bytes));
    await setImmediate();
    vi.advanceTimersByTime(halfMinuteMs);
    await setImmediate();
  }
  meter.destroy();
  return fault;
}

describe('an upload', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  test('may take as long as it brings half a megabyte in each half minute', async () => {
    expect(await faultOf([500_000, 600_000, 500_000, 500_000])).toBeUndefined();
  });

  test.each([
    ['brings a byte less', [500_000, 499_999]],
    ['falls silent', [900_000, 0]],
    ['never sends a byte', [0]],
  ])('that %s is ended, with words', async (_, brought) => {
    const fault = await faultOf(brought);
    expect(fault).toMatchObject({ status: 408, code: 'upload-too-slow', message: expect.stringContaining('500 kB') });
    expect(fault).toMatchObject({ hint: expect.stringContaining('in parts') });
  });

  test('is not blamed for a disk that takes no more', async () => {
    expect(await faultOf([10_000, 0, 0], { isRead: false })).toBeUndefined();
  });

  test('that has come whole is left in peace', async () => {
    const meter = new UploadMeter(1_000);
    const end = new Promise((resolve) => void meter.once('end', resolve));
    meter.resume().end(Buffer.alloc(10));
    await end;
    vi.advanceTimersByTime(10 * halfMinuteMs);
    expect(meter.errored).toBeNull();
    meter.destroy();
  });
});
