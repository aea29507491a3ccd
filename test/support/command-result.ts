export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
