/** What was started so far: ends with it, the last first, unless it was handed on. */
export class Started {
  #parts: AsyncDisposable[] = [];

  use<T extends AsyncDisposable>(part: T): T {
    this.#parts.push(part);
    return part;
  }

  move(): Started {
    const moved = new Started();
    [moved.#parts, this.#parts] = [this.#parts, []];
    return moved;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.#parts.toReversed()) await part[Symbol.asyncDispose]();
  }
}
