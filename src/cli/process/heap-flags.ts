/**
 * V8's flags in a process with limits of memory (G8). V8 takes back what it has compiled, Node's own modules first, only under the
 * flags under which it was compiled. The heap reads its limits once, when it is made: from then on their flags need not stand. This
 * module takes them back when it is loaded, which is to be before any other one.
 */
import v8 from 'node:v8';

for (const argument of process.execArgv) {
  if (/^--[a-z-]+-space-size=\d+$/.test(argument)) v8.setFlagsFromString(argument.replace(/\d+$/, '0'));
}

/**
 * Whether the heap is collected only when it has doubled: pages and rows lie outside it, and V8 collects twice as often for them. To
 * be switched on when code is loaded, and off before code is kept.
 */
export function collectLate(isOn: boolean): void {
  v8.setFlagsFromString(`--heap-growing-percent=${isOn ? 100 : 0}`);
}
