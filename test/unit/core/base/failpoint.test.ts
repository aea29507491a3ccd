import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Failpoint } from '../../../../src/core/base/failpoint.ts';

const key = Symbol.for('wellsync.failpoint');

class Store {
  readonly #rows = ['a'];
  readonly inner = { count: async () => this.#rows.length };
  async read(): Promise<readonly string[]> {
    return this.#rows;
  }
  at(index: number): string | undefined {
    return this.#rows[index];
  }
  open() {
    return { isOpen: () => true };
  }
  async lease() {
    return { signal: new AbortController().signal, isOwned: () => true, async [Symbol.asyncDispose]() {} };
  }
}

async function loaded(failpoint: Failpoint | undefined) {
  vi.resetModules();
  Object.assign(globalThis, { [key]: failpoint });
  return import('../../../../src/core/base/failpoint.ts');
}

describe('failpoints', () => {
  beforeAll(() => vi.resetModules());
  afterAll(() => {
    Reflect.deleteProperty(globalThis, key);
    vi.resetModules();
  });

  it('cost nothing where they are off: the port stays the object that it is', async () => {
    const { withSteps } = await loaded(undefined);
    const store = new Store();
    expect(withSteps('store', store)).toBe(store);
  });

  it('are met before and after each call, also of ports within and of those that a call returns', async () => {
    const met: string[] = [];
    const { withSteps } = await loaded((step, when) => met.push(`${step} ${when}`));
    const store = withSteps('store', new Store());
    expect(await store.read()).toEqual(['a']);
    expect(store.at(0)).toBe('a');
    expect(await store.inner.count()).toBe(1);
    expect(store.open().isOpen()).toBe(true);
    {
      await using lease = await store.lease();
      expect(AbortSignal.any([lease.signal]).aborted).toBe(false);
    }
    expect(met).toEqual([
      'store.read before',
      'store.read after',
      'store.at before',
      'store.inner.count before',
      'store.inner.count after',
      'store.open before',
      'store.open.isOpen before',
      'store.lease before',
      'store.lease after',
      'store.lease.dispose before',
      'store.lease.dispose after',
    ]);
  });

  it('fail a call, before it is made and after it took effect', async () => {
    const failsAt = { when: 'before' };
    const { withSteps } = await loaded((_, when) => {
      if (when === failsAt.when) throw new Error(`failed ${when}`);
    });
    const write = vi.fn<() => Promise<void>>(async () => undefined);
    const store = withSteps('store', { write });
    await expect(store.write()).rejects.toThrow('failed before');
    expect(write).not.toHaveBeenCalled();
    failsAt.when = 'after';
    await expect(store.write()).rejects.toThrow('failed after');
    expect(write).toHaveBeenCalledOnce();
  });
});
