/** Requests about the service of a warehouse: show it, set it once, or give it a new name. */
import { AbortedError, UsageError } from '../../core/base/errors.ts';
import { serviceKeyOf } from '../../core/base/service-key.ts';
import type { ServiceAlias, ServiceRecords } from '../../warehouse/port/ownership.ts';
import type { App } from '../app.ts';

export interface ServiceStatus {
  /** Null until the first run. */
  readonly service: string | null;
  readonly warehouse: string;
  readonly warehouseId: string;
  readonly epoch: number;
  readonly names: readonly ServiceAlias[];
}

export async function serviceStatus({ ledger, warehouse }: App): Promise<ServiceStatus> {
  const { service, warehouseId, epoch } = await ledger.ownership.read();
  const aliases = await ledger.ownership.aliases();
  const names = aliases.filter(({ address }) => address !== service);
  return { service: service ?? null, warehouse: warehouse.location, warehouseId, epoch, names };
}

/** The confirmation of a change; `ask` is undefined without a terminal. */
export interface Confirmation {
  readonly by: string;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly ask: ((question: string) => Promise<string | undefined>) | undefined;
}

/** Returns the key that was adopted, or would be. Throws UsageError, and AbortedError if it was not confirmed. */
export async function adoptService(app: App, named: string | undefined, how: Confirmation): Promise<string> {
  const { ownership } = app.ledger;
  const service = named === undefined ? undefined : serviceKeyOf(named);
  const change = { by: how.by, atMs: Date.now() };
  const adopted = await ownership.adopt(service, { ...change, dryRun: true });
  if (how.dryRun) return adopted;
  await confirm(`${app.warehouse.location} belongs to ${adopted} from now on. Type yes to go on: `, how);
  return ownership.adopt(adopted, { ...change, dryRun: false });
}

/** Returns the number of records under the old name. Throws UsageError, and AbortedError if it was not confirmed. */
export async function moveService(
  app: App,
  [old, to]: readonly [string, string],
  how: Confirmation,
): Promise<ServiceRecords> {
  const { ownership } = app.ledger;
  const [from, target] = [serviceKeyOf(old), serviceKeyOf(to)];
  const change = { by: how.by, atMs: Date.now() };
  const records = await ownership.move(from, target, { ...change, dryRun: true });
  if (how.dryRun) return records;
  await confirm(`${from} is known as ${target} from now on. Type yes to go on: `, how);
  return ownership.move(from, target, { ...change, dryRun: false });
}

async function confirm(question: string, { yes, ask }: Confirmation): Promise<void> {
  if (yes) return;
  if (ask === undefined) {
    throw new UsageError('this changes the service of the warehouse, and nobody can be asked here', {
      action: { kind: 'confirm-unattended' },
    });
  }
  if ((await ask(question)) !== 'yes') throw new AbortedError('not confirmed: nothing was changed');
}
