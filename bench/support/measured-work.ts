/** Measures work in this very process, which bears its memory with everything else. */
import type { Sample } from '../report/measurement.ts';
import { otherLoad, spentUntilNow } from './machine.ts';

/** Counts the time of a step of the work; what is not passed to it, such as making data, does not count. */
type Count = <T>(step: () => Promise<T>) => Promise<T>;

/** `serverSeconds` gives the CPU seconds of a server that works for the steps, whose share then counts. */
export async function measureWork(
  amount: number,
  work: (count: Count) => Promise<void>,
  serverSeconds: () => number = () => 0,
): Promise<Sample> {
  const before = await spentUntilNow(undefined);
  let [seconds, cpuSeconds] = [0, 0];
  await work(async (step) => {
    const beganServer = serverSeconds();
    const beganCpu = process.cpuUsage();
    const beganMs = performance.now();
    const result = await step();
    const { user, system } = process.cpuUsage(beganCpu);
    seconds += (performance.now() - beganMs) / 1_000;
    cpuSeconds += (user + system) / 1e6 + serverSeconds() - beganServer;
    return result;
  });
  const after = await spentUntilNow(undefined);
  return { amount, seconds, cpuSeconds, peakMegabytes: null, otherLoad: otherLoad(before, after) };
}
