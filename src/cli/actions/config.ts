import { loadConfig } from '../../../config/load.ts';
import type { Config } from '../../../config/schema.ts';
import type { Invocation } from '../commands/command-line.ts';

/** Loads the configuration with the flags of this command. Throws UsageError with every fault at once. */
export function configOf({ environment, options }: Pick<Invocation<unknown>, 'environment' | 'options'>): Config {
  return loadConfig({
    environment,
    flags: {
      service: { url: options.serviceUrl },
      redis: { url: options.redisUrl },
      warehouse: { url: options.warehouse },
      dataDir: options.dataDir,
      queue: { prefix: options.queuePrefix },
      logLevel: options.logLevel,
    },
    ...(options.config === undefined ? {} : { file: options.config }),
  });
}
