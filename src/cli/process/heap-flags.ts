/**
 * V8's flags in a process with limits of memory (G8), and while code is kept (compile-cache.ts). V8 takes back what it has compiled,
 * Node's own modules first, only under the flags under which it was compiled. The heap reads its limits once, when it is made: from
 * then on their flags need not stand. This module takes them back when it is loaded, which is to be before any other one. A thread
 * that began later would have no limits of its own: the program has none.
 */
import v8 from 'node:v8';

for (const argument of process.execArgv) {
  if (/^--[a-z-]+-space-size=\d+$/.test(argument)) v8.setFlagsFromString(argument.replace(/\d+$/, '0'));
}

/** Flags that change how V8 works from now on: each as it is set, and as it is otherwise. */
const workFlags = {
  /** The heap is collected only when it has doubled: pages and rows lie outside it, and V8 collects twice as often for them. */
  collectLate: ['--heap-growing-percent=100', '--heap-growing-percent=0'],
  /** V8 otherwise forgets code that was not called for a while: in a long command all of its start. */
  keepCode: ['--no-flush-bytecode', '--flush-bytecode'],
} as const;

const set = new Set<keyof typeof workFlags>();
let loading = 0;

export function setWorkFlag(flag: keyof typeof workFlags): void {
  if (set.has(flag)) return;
  set.add(flag);
  if (loading === 0) v8.setFlagsFromString(workFlags[flag][0]);
}

/** Loads or keeps code, under the flags under which it is taken back. */
export function underCodeFlags<T>(work: () => T): T {
  loading += 1;
  if (loading === 1) for (const flag of set) v8.setFlagsFromString(workFlags[flag][1]);
  try {
    return work();
  } finally {
    loading -= 1;
    if (loading === 0) for (const flag of set) v8.setFlagsFromString(workFlags[flag][0]);
  }
}
