/** The checks of `wellsync doctor`: each part is used, and each finding says what to do. */
import type { Config } from '../../../config/schema.ts';
import { kindText } from '../../core/alerts/kinds.ts';
import { counted, instantText, listed } from '../../core/base/text.ts';
import { holdText, outageText } from '../../core/run/service-hold.ts';
import { keeperOfCommand } from '../alerts/keeper.ts';
import { type App, createApp } from '../app.ts';
import { checkDisk, checkFiles } from './disk.ts';
import { checked, type Finding, ok, Patience, warning } from './finding.ts';
import { inboxFindings } from './inbox.ts';
import { secretFindings, tokenFindings } from './secrets.ts';
import { checkServiceAndAccess } from './service.ts';
import {
  checkWarehouse,
  checkWorkers,
  droppedDatesFindings,
  zoneFindings,
  type Liveness,
  livenessOf,
  queueFindings,
} from './warehouse.ts';

const workersRemedy = {
  hint: 'See whether WELLSYNC_REDIS_URL and WELLSYNC_QUEUE_PREFIX are those of the workers.',
};
const warehouseRemedy = {
  hint: 'See WELLSYNC_WAREHOUSE (or warehouse.url), and which other program has the file.',
};

/**
 * Checks with the configuration; `uwi` is a well to ask the service for. A failed part keeps no other from its check. `report`
 * is called with what is waited for.
 */
export async function checksOfParts(
  config: Config,
  uwi: string | undefined,
  report: (message: string) => void = () => {},
): Promise<readonly Finding[]> {
  const patience = new Patience();
  const queue = await queueFindings(config);
  const hasQueue = queue[0].status !== 'failed';
  const workers = hasQueue
    ? [await checked('workers', workersRemedy, () => patience.withApp(config, (app) => checkWorkers(app, patience)))]
    : [];
  return [
    ...queue,
    ...workers,
    ...(hasQueue ? await holdFindings(config, patience) : []),
    await checked('warehouse', warehouseRemedy, () => patience.withApp(config, (app) => checkWarehouse(app, patience))),
    ...(await alertFindings(config, hasQueue, patience)),
    ...(await storedFindings(config, patience)),
    ...(await checkServiceAndAccess(config, { uwi, hasQueue, report, patience })),
    ...(await secretFindings(config)),
    await checkDisk(config.dataDir),
    ...(await checkFiles(config)),
    ...(await inboxFindings(config, patience)),
    ...tokenFindings(config.http, Date.now()),
  ];
}

/** None where there is no warehouse yet, or a worker holds it: the check of the warehouse says why. */
function alertFindings(config: Config, hasQueue: boolean, patience: Patience): Promise<readonly Finding[]> {
  return foundOrNone(config, patience, async (app) => {
    if (!(await app.warehouse.isStored())) return [];
    // Where no worker is alive, nobody else sees what is wrong with schedules and queues.
    if (hasQueue) await observeOnce(app);
    const [open, { messages, sinceMs }] = [
      await app.ledger.alerts.countOpen(Date.now()),
      await app.ledger.alerts.outbox.waiting(Date.now()),
    ];
    const shown = open.map(
      ({ kind, severity, alerts, areWells }) => `${kindText(kind, alerts, areWells)} (${severity})`,
    );
    const action = { kind: 'list-alerts' } as const;
    const message = shown.length === 0 ? 'none is open' : listed(shown);
    const isSerious = open.some(({ severity }) => severity !== 'info');
    return [
      isSerious ? warning('alerts', message, { action }) : ok('alerts', message),
      ...(sinceMs === undefined || config.alerts.url === undefined
        ? []
        : [
            warning('alerts', `${counted(messages, 'message')} for the receiver since ${instantText(sinceMs)}`, {
              hint: 'See whether alerts.url is right, and the receiver is up.',
            }),
          ]),
    ];
  });
}

async function observeOnce(app: App): Promise<void> {
  const alerts = keeperOfCommand(app, 'doctor');
  await alerts.observe({ withWorkers: true });
  await alerts.sendInTime();
}

/** None while requests may be sent, and none without a warehouse, a service or Redis: the checks of those say so. */
function holdFindings(config: Config, patience: Patience): Promise<readonly Finding[]> {
  return foundOrNone(config, patience, async (app) => {
    const { serviceHold } = await app.queue('prompt');
    const [hold, outage] = [await serviceHold.read(), await serviceHold.readOutage()];
    const action = { kind: 'release-service' } as const;
    return [
      ...(hold === undefined ? [] : [warning('hold', holdText(hold), { action })]),
      ...(outage === undefined ? [] : [warning('outage', outageText(outage), { action })]),
    ];
  });
}

/** None where the warehouse cannot be opened: its own check says so. */
function storedFindings(config: Config, patience: Patience): Promise<readonly Finding[]> {
  return foundOrNone(config, patience, async (app) => [
    ...(await zoneFindings(app)),
    ...(await droppedDatesFindings(app)),
  ]);
}

/** For a check whose errors another one reports. */
async function foundOrNone(
  config: Config,
  patience: Patience,
  check: (app: App) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await patience.withApp(config, check);
  } catch {
    return [];
  }
}

/** Whether a worker is at work, by the beat alone, with the address of the warehouse. For a probe every few seconds. */
export async function checkLive(config: Config): Promise<Liveness & { readonly warehouse: string }> {
  await using app = createApp(config);
  return { ...(await livenessOf(app)), warehouse: app.warehouse.location };
}
