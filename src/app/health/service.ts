/** Service and access, by a request with the token: an open port says neither what listens there nor whom it lets in. */
import type { Config } from '../../../config/schema.ts';
import {
  AbortedError,
  AccessError,
  isBusy,
  NotFoundError,
  ServiceHoldError,
  UsageError,
  WellsyncError,
} from '../../core/base/errors.ts';
import { shownService } from '../../core/base/service-key.ts';
import { listed } from '../../core/base/text.ts';
import { WorkedElsewhereError } from '../../runs/queue-claim.ts';
import { checkServiceReach } from '../../service/reach.ts';
import type { App } from '../app.ts';
import { checkSecretFiles } from '../preflight.ts';
import { askPatienceMs, tryService, knownWell } from '../service/ask-service.ts';
import { serviceIdentityOf, serviceUrlOf, tlsOf } from '../service/service-settings.ts';
import { failedFinding, type Finding, ok, type Patience, warning } from './finding.ts';

const otherService = {
  hint: 'Is this the address of the Production Data Service?',
  action: { kind: 'check-address', setting: 'service.url' },
} as const;

/** `uwi`: a well that the operator named. Without Redis no request is sent: the limits of G9 are there. */
export async function checkServiceAndAccess(
  config: Config,
  {
    uwi,
    hasQueue,
    report,
    patience,
  }: {
    readonly uwi: string | undefined;
    readonly hasQueue: boolean;
    readonly report: (message: string) => void;
    readonly patience: Patience;
  },
): Promise<readonly Finding[]> {
  try {
    await checkServiceReach(serviceUrlOf(config), tlsOf(config));
  } catch (error) {
    return [failedFinding('service', error, otherService)];
  }
  try {
    await checkSecretFiles(config);
  } catch (error) {
    return [reachable(config), failedFinding('access', error)];
  }
  if (hasQueue) return askWithToken(config, uwi, { report, patience });
  const hint = 'Correct what is wrong with Redis first.';
  return [reachable(config), warning('access', `${tokenText(config)}: not tried without Redis`, { hint })];
}

function reachable(config: Config): Finding {
  return ok('service', `${shownService(serviceIdentityOf(config))} can be reached`);
}

async function askWithToken(
  config: Config,
  uwi: string | undefined,
  { report, patience }: { readonly report: (message: string) => void; readonly patience: Patience },
): Promise<readonly Finding[]> {
  const { service } = config;
  const once = { ...config, service: { ...service, retry: { ...service.retry, attempts: 1 } } };
  try {
    const ask = async (app: App) => askFor(app, config, await knownWell(app, uwi));
    return await patience.withApp(once, ask, { report });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    // The address of the warehouse, or the list of wells in the configuration.
    return [reachable(config), warning('access', `${tokenText(config)}: not tried, since ${error.message}`, error)];
  }
}

async function askFor(app: App, config: Config, well: string | undefined): Promise<readonly Finding[]> {
  let tokenIs = tokenText(config);
  try {
    await tryService(app, well, (sender) => {
      if (sender === 'worker') tokenIs = 'the token of the process that works the warehouse';
    });
    const answered = ok(
      'service',
      `${shownService(serviceIdentityOf(config))} answered for ${well ?? 'a made-up well'}`,
    );
    return [answered, ok('access', `${tokenIs}: accepted`)];
  } catch (error) {
    return findingsOf(error, { config, well, tokenIs });
  }
}

function findingsOf(
  error: unknown,
  { config, well, tokenIs }: { readonly config: Config; readonly well: string | undefined; readonly tokenIs: string },
): readonly Finding[] {
  if (error instanceof AbortedError) {
    const hint = 'Workers that use all of service.concurrency come first; else see whether the service is slow.';
    const message = `${tokenIs}: no answer within ${askPatienceMs / 1_000} s`;
    return [reachable(config), warning('access', message, { hint })];
  }
  if (error instanceof WellsyncError && (error instanceof ServiceHoldError || isBusy(error))) {
    return [reachable(config), warning('access', `${tokenIs}: not tried, since ${error.message}`, error)];
  }
  if (error instanceof WorkedElsewhereError) {
    const message = `${tokenIs}: not tried, since a process works the warehouse that this one cannot reach, and it alone sends requests`;
    return [reachable(config), ok('access', message)];
  }
  if (error instanceof AccessError) return [reachable(config), failedFinding('access', error)];
  if (error instanceof NotFoundError && !/<(!doctype|html)/i.test(error.message)) {
    const which = well === undefined ? 'no well is known to ask for' : `the service does not know the well ${well}`;
    const message = `${tokenIs}: whether it is accepted cannot be told, since ${which}`;
    return [reachable(config), warning('access', message, { action: { kind: 'doctor-well' } })];
  }
  if (!(error instanceof WellsyncError)) throw error;
  return [failedFinding('service', error, otherService)];
}

function tokenText({ service: { token, tokenFile, oauth, tls } }: Config): string {
  const shown = tls?.certFile === undefined ? [] : [`client certificate ${tls.certFile}`];
  if (token !== undefined) return listed(['token set by value', ...shown]);
  if (tokenFile !== undefined) return listed([`token from the file ${tokenFile}`, ...shown]);
  if (oauth !== undefined) return listed([`tokens by client credentials from ${oauth.tokenUrl}`, ...shown]);
  return listed(['no token', ...shown]);
}
