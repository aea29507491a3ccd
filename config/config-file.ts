/** Where the configuration file is named, for those who need no more of the configuration. */

export const configFileVariable = 'WELLSYNC_CONFIG';

/** Read when no other file is named and this one exists. */
export const defaultConfigFile = 'config/wellsync.yaml';

/** Environment variable of worker.memoryMb. */
export const memoryVariable = 'WELLSYNC_WORKER_MEMORY_MB';
