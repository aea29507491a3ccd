import path from 'node:path';
import { counted, listed, roughDurationText } from '../../core/base/text.ts';
import { databaseFileOf } from '../../warehouse/create-warehouse.ts';
import type { App } from '../app.ts';
import { accidentalPlace } from '../preflight.ts';
import { beatAgeOfHolder } from './beat.ts';
import { writeFault } from './disk.ts';
import { failed, type Finding, ok, warning } from './finding.ts';

export async function checkWorkers(app: App): Promise<Finding> {
  try {
    await app.checkQueue();
    const counts = await (await app.queue('prompt')).workers();
    const message = listed(counts.map((entry) => `${entry.workers} at ${entry.queue}`));
    if (counts.every((entry) => entry.workers > 0)) return ok('workers', message);
    return warning('workers', message, { action: { kind: 'start-worker' } });
  } catch (error) {
    return ok('workers', `at work: the last beat is ${ageText(await beatAgeOfHolder(error, app))} old`);
  }
}

/** A warehouse that a worker of this installation holds is well: it is not waited for, and not opened. */
export async function checkWarehouse(app: App): Promise<Finding> {
  const { warehouse, config } = app;
  const file = databaseFileOf(config.warehouse.url);
  const fault = file === undefined ? undefined : await writeFault(path.dirname(file));
  if (fault !== undefined) {
    return failed('warehouse', `${warehouse.location}: ${fault}`, {
      hint: 'Set WELLSYNC_WAREHOUSE (or warehouse.url) to a file in a folder with room that can be written to.',
    });
  }
  // The check itself would create the warehouse.
  if (!(await warehouse.isStored())) {
    await warehouse.tryMaking();
    const accident = await accidentalPlace(app);
    if (accident !== undefined) {
      const message = `${accident.message}. A command at a terminal makes it; one without, as under cron, is refused`;
      return warning('warehouse', message, accident);
    }
    return ok('warehouse', `${warehouse.location}, not there yet: the first run makes it`);
  }
  try {
    return await usedWarehouse(app);
  } catch (error) {
    const age = ageText(await beatAgeOfHolder(error, app));
    return ok('warehouse', `${warehouse.location}, held by a worker whose last beat is ${age} old: not opened`);
  }
}

async function usedWarehouse(app: App): Promise<Finding> {
  const { warehouse, ledger, config } = app;
  const { engine, schemaVersion, dailyProductionRows } = await warehouse.check();
  await warehouse.tryWriting();
  const rows = counted(dailyProductionRows, 'row');
  if (config.service.url !== undefined) await app.checkService();
  const { service } = await ledger.ownership.read();
  const owner = service === undefined ? 'no service yet' : `service ${service}`;
  const parts = [engine, `schema ${schemaVersion}`, `${rows} of daily production`, owner, 'written to and rolled back'];
  return ok('warehouse', [warehouse.location, ...parts].join(', '));
}

function ageText(ageMs: number): string {
  return roughDurationText(ageMs);
}
