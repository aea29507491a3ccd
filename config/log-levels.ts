/** Separate from the schema, so that the command line can list the levels without loading it. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];
