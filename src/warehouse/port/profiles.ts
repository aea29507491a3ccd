/** Results of probes of a service, as JSON text, by the service's base address. */
export interface ProfileStore {
  read(baseUrl: string): Promise<string | undefined>;
  /** Replaces the stored profile. */
  save(baseUrl: string, profile: string, savedAtMs: number): Promise<void>;
  /** Whether the caller is to probe the service in this run: true for the first call of a run, whichever worker's. */
  claimProbe(runId: string, nowMs: number): Promise<boolean>;
}
