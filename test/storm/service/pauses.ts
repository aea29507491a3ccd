/** Waits that can be ended early, all at once. */
export class Pauses {
  readonly #waiting = new Set<() => void>();

  /** Resolves after `delayMs`, or when all are released. */
  async wait(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, delayMs);
      this.#waiting.add(end);
    });
  }

  release(): void {
    for (const end of this.#waiting) end();
  }
}
