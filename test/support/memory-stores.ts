/** The smaller stores of a Redis in memory: identity, metrics, alerts and the log of runs. */
import type {
  AlertMessage,
  AlertStore,
  ItemLease,
  MetricStore,
  QueueIdentityStore,
  RunLogStore,
} from '../../src/queue/port.ts';
import type { MemoryConnection } from './memory-redis.ts';

const mostMessages = 200;
const mostLines = 200;

export function memoryIdentity({ state, now, step }: MemoryConnection): QueueIdentityStore {
  const idOf = (part: 'queue' | 'warehouse'): string | undefined => {
    const found = state.identity.get(part);
    return found !== undefined && now() < found.endsAtMs ? found.id : undefined;
  };
  const identity = () => ({ queueId: idOf('queue'), warehouseId: idOf('warehouse') });
  return {
    async read() {
      await step('read the identity of the queue');
      return identity();
    },
    async keep(queueId, warehouseId, keepMs) {
      await step('keep the identity of the queue');
      if (idOf('queue') === undefined) state.identity.set('queue', { id: queueId, endsAtMs: Infinity });
      if ((idOf('warehouse') ?? warehouseId) === warehouseId) {
        state.identity.set('warehouse', { id: warehouseId, endsAtMs: now() + keepMs });
      }
      return identity();
    },
    async release(warehouseId) {
      await step('release the warehouse');
      if (idOf('warehouse') === warehouseId) state.identity.delete('warehouse');
    },
  };
}

export function memoryMetrics({ state: { sums, gauges, sources }, step }: MemoryConnection): MetricStore {
  return {
    async raise(source, totals) {
      if (totals.size === 0) return;
      await step(`raise the metrics of ${source}`);
      const known = sources.get(source) ?? new Map<string, number>();
      sources.set(source, known);
      for (const [series, total] of totals) {
        const before = known.get(series);
        if (before !== undefined && total <= before) continue;
        sums.set(series, (sums.get(series) ?? 0) + Math.max(0, total - (before ?? 0)));
        known.set(series, total);
      }
    },
    async set(values) {
      if (values.size > 0) await step('set gauges');
      for (const [series, value] of values) gauges.set(series, value);
    },
    async read() {
      await step('read the metrics');
      return { sums: new Map(sums), gauges: new Map(gauges) };
    },
  };
}

export function memoryAlerts(
  { state: { alerts, outbox, next }, step }: MemoryConnection,
  tryLease: () => Promise<ItemLease | undefined>,
): AlertStore {
  const append = (message: AlertMessage): void => {
    outbox.add(message);
    for (const oldest of [...outbox].slice(0, -mostMessages)) outbox.delete(oldest);
  };
  return {
    async record({ scope, atMs, troubles }) {
      await step(`record the alerts of ${scope}`);
      const known = alerts.get(scope);
      if (known !== undefined && atMs <= known.atMs) return;
      const seen = new Map(troubles.map((trouble) => [JSON.stringify(trouble.cause), trouble]));
      const open = new Map(known?.open);
      for (const [cause, trouble] of seen) {
        if (open.has(cause)) continue;
        const alert = { id: `alert-${next()}`, ...trouble, raisedAtMs: atMs };
        open.set(cause, alert);
        append({ ...alert, kind: 'raised', atMs });
      }
      for (const [cause, alert] of open) {
        if (!seen.has(cause) && open.delete(cause)) append({ ...alert, kind: 'over', atMs });
      }
      alerts.set(scope, { atMs, open });
    },
    async sendWaiting(send) {
      await using lease = await tryLease();
      if (lease === undefined) return;
      for (;;) {
        await step('read the next alert');
        const [message] = outbox;
        if (message === undefined || !lease.isOwned()) return;
        if (!(await send(message))) return;
        await step(`remove ${message.id}`);
        outbox.delete(message);
      }
    },
  };
}

export function memoryRunLog({ state: { runLog }, step }: MemoryConnection): RunLogStore {
  return {
    async append(runId, lines) {
      if (lines.length === 0) return;
      await step(`append to the log of ${runId}`);
      runLog.set(runId, [...(runLog.get(runId) ?? []), ...lines].slice(-mostLines));
    },
    async read(runId) {
      await step(`read the log of ${runId}`);
      return runLog.get(runId) ?? [];
    },
  };
}
