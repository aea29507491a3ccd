/**
 * V8's flags in a process with limits of memory (G8), and while code is kept (compile-cache.ts). V8 rejects code that was compiled
 * under other flags, of Node's own modules too. The heap has read its limits by now: loading this module takes their flags back,
 * and it is to be loaded before any other one. Threads of this process that begin later have no limits: wellsync starts none.
 */
import v8 from 'node:v8';

/** As limited-process.ts sets them. */
const limits = ['max-old-space-size', 'initial-old-space-size', 'min-semi-space-size', 'max-semi-space-size'];
for (const flag of limits) v8.setFlagsFromString(`--${flag}=0`);

/** Flags that change how V8 works from now on: each as it is set, and as it is otherwise. */
const workFlags = {
  /** The heap is collected only when it has doubled: pages and rows lie outside it, and V8 collects twice as often for them. */
  collectLate: ['--heap-growing-percent=100', '--heap-growing-percent=0'],
  /** V8 otherwise forgets code that was not called for a while: in a long command all of its start. */
  keepCode: ['--no-flush-bytecode', '--flush-bytecode'],
} as const;

const active = new Set<keyof typeof workFlags>();
let depth = 0;

export function setWorkFlag(flag: keyof typeof workFlags): void {
  if (active.has(flag)) return;
  active.add(flag);
  if (depth === 0) v8.setFlagsFromString(workFlags[flag][0]);
}

/** Loads or keeps code, under the flags under which it is taken back. */
export function underCodeFlags<T>(work: () => T): T {
  depth += 1;
  if (depth === 1) for (const flag of active) v8.setFlagsFromString(workFlags[flag][1]);
  try {
    return work();
  } finally {
    depth -= 1;
    if (depth === 0) for (const flag of active) v8.setFlagsFromString(workFlags[flag][0]);
  }
}
