/** The smaller stores of a Redis in memory: identity, metrics and the log of runs. */
import type { MetricStore, QueueIdentityStore, RunLogStore } from '../../src/queue/port.ts';
import type { MemoryConnection } from './memory-redis.ts';

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
