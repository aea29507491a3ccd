/** The client with settings for tests; it records its pauses instead of sleeping. */
import { createProductionDataService } from '../../src/service/create-service.ts';
import type { ProductionDataService } from '../../src/service/production-data-service.ts';
import type { ServiceDependencies } from '../../src/service/request-layer.ts';
import type { ServiceSettings } from '../../src/service/settings.ts';

export interface ServiceUnderTest extends AsyncDisposable {
  readonly service: ProductionDataService;
  /** Every pause between two attempts, in milliseconds. */
  readonly pausesMs: readonly number[];
}

export function serviceAt(
  baseUrl: string,
  settings: Partial<ServiceSettings> = {},
  dependencies: ServiceDependencies = {},
): ServiceUnderTest {
  const pausesMs: number[] = [];
  const defaults: ServiceSettings = {
    baseUrl,
    token: { kind: 'none' },
    timeoutMs: 5_000,
    concurrency: 4,
    maxBodyBytes: 1_000_000,
    retry: { maxAttempts: 3, baseDelayMs: 100, maxDelayMs: 1_000, deadlineMs: 20_000 },
  };
  const sleep = async (delayMs: number): Promise<void> => void pausesMs.push(delayMs);
  const service = createProductionDataService(
    { ...defaults, ...settings },
    { random: () => 0.5, sleep, ...dependencies },
  );
  return { service, pausesMs, [Symbol.asyncDispose]: () => service.close() };
}

/** The error with which a promise rejects. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => Promise.reject(new Error(`expected a rejection, got ${JSON.stringify(value)}`)),
    (error: unknown) => error,
  );
}
