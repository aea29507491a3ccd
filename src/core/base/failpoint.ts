/**
 * Failpoints: a test has the process killed, hung, or given an error right before or after a step of its work. A step is a
 * call through a port, by the port's name and the method's; so the list of steps is the code's own. A module that is loaded
 * before the program (`NODE_OPTIONS=--import=…`) sets what is called at each; without one a port stays as it is.
 */

/** What it throws, the call rejects with: after the step, although that took effect. */
export interface Failpoint {
  (step: string, when: 'before' | 'after'): void;
  /** Told of each port, so that a test knows the steps that are not taken. */
  opened?(name: string, port: object): void;
}

const failpoint = (globalThis as Readonly<Record<symbol, unknown>>)[Symbol.for('wellsync.failpoint')] as
  | Failpoint
  | undefined;

/** The port itself, unless failpoints are on. */
export function withSteps<Port extends object>(name: string, port: Port): Port {
  return failpoint === undefined ? port : stepped(name, port, failpoint);
}

function stepped<Port extends object>(name: string, port: Port, point: Failpoint): Port {
  point.opened?.(name, port);
  return new Proxy(port, {
    get(target, key) {
      // Of the target, as `this` is below: private members are the target's alone.
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return isPort(value) ? stepped(`${name}.${String(key)}`, value, point) : value;
      if (typeof key === 'symbol' && key !== Symbol.asyncDispose) return value.bind(target) as unknown;
      const step = `${name}.${typeof key === 'symbol' ? 'dispose' : key}`;
      return (...args: readonly unknown[]): unknown => {
        try {
          point(step, 'before');
        } catch (error) {
          return Promise.reject(error);
        }
        const result: unknown = Reflect.apply(value, target, args);
        if (!(result instanceof Promise)) return isPort(result) ? stepped(step, result, point) : result;
        return result.then((settled: unknown) => {
          point(step, 'after');
          return isPort(settled) && isPlain(settled) ? stepped(step, settled, point) : settled;
        });
      };
    },
  });
}

/** An object with methods, of its own or of its class; a signal is handed on as it is. */
function isPort(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || value instanceof EventTarget) return false;
  const members = isPlain(value) ? value : (Object.getPrototypeOf(value) as object);
  return Object.entries(Object.getOwnPropertyDescriptors(members)).some(
    ([key, member]) => key !== 'constructor' && typeof member.value === 'function',
  );
}

function isPlain(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype;
}
