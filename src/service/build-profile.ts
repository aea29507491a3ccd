/** Runs the probe of a service (core/paging/probe.ts) and builds its profile from the findings. */
import { NotFoundError, PermanentError } from '../core/base/errors.ts';
import { midnightNotice } from '../core/daily/zones.ts';
import { checkRecord } from '../core/daily/record-check.ts';
import {
  type Finding,
  probe,
  type ProbeAnswer,
  type ProbeAsk,
  type ProbeFindings,
  type ProbeRow,
} from '../core/paging/probe.ts';
import type { ProfileEvidence, ServiceProfile } from '../core/paging/service-profile.ts';
import { productionCalendar, type ProductionCalendar } from '../core/time/production-day.ts';
import type { CallOptions, ProbeRequest, ProductionDataService } from './production-data-service.ts';
import { keyOf } from './record-counter.ts';
import type { RecordPage } from './record-page.ts';

export interface ProbeOptions extends CallOptions {
  readonly now?: () => number;
}

/**
 * Probes a service with at most `mostProbeRequests` requests (12), retries apart. A property that the well cannot show
 * is `unknown`, with the reason as its evidence. Throws PermanentError `no-data` for a well without rows, NotFoundError
 * for a well that the service does not know, and the other errors of the port.
 */
export async function probeService(
  service: Pick<ProductionDataService, 'baseUrl' | 'fetchDailyProductionPage'>,
  { uwi, timeZone }: ProbeRequest,
  { now = Date.now, ...options }: ProbeOptions = {},
): Promise<ServiceProfile> {
  const calendar = productionCalendar(timeZone);
  const plain = rowsOf(await service.fetchDailyProductionPage({ uwi }, options), calendar);
  if (plain.length === 0) {
    throw new PermanentError('no-data', `${uwi} has no daily production to probe the service by`, {
      action: { kind: 'probe-other-well' },
    });
  }
  const probing = probe(plain);
  let step = probing.next();
  while (step.done !== true) step = probing.next(await answerTo(step.value));
  const profile = profileOf(step.value, { baseUrl: service.baseUrl, probedAtMs: now(), uwi });
  return { ...profile, evidence: [...profile.evidence, ...evidenceOfDates(plain, timeZone)] };

  async function answerTo(ask: ProbeAsk): Promise<ProbeAnswer> {
    const reply = await replyTo(service.fetchDailyProductionPage({ uwi, ...ask }, options));
    if (reply instanceof PermanentError) return { kind: refusalOf(reply) ?? 'refused' };
    return { kind: 'page', rows: rowsOf(reply, calendar) };
  }
}

function rowsOf(page: RecordPage, calendar: ProductionCalendar): readonly ProbeRow[] {
  return Array.from(page.records, (raw, index) => {
    const checked = checkRecord(raw, calendar, page.textOf(index));
    return { key: keyOf(checked), instantMs: checked.kind === 'row' ? checked.row.instantMs : checked.instantMs };
  });
}

/** Names of the findings, in the order of the operator's table. */
const findingNames: Readonly<Record<keyof ProbeFindings, string>> = {
  pageBase: 'first page',
  belowFirst: 'below the first page',
  pastLast: 'past the last page',
  pagingHonoured: 'page is honoured',
  limitHonoured: 'limit is honoured',
  defaultLimit: 'rows without a limit',
  maxLimit: 'largest limit',
  largestPage: 'most rows on a page',
  overMaxLimit: 'a larger limit is',
  startBound: 'startDate is',
  endBound: 'endDate is',
  order: 'order by date',
  orderStable: 'order stays the same',
};

function profileOf(
  findings: ProbeFindings,
  probed: Pick<ServiceProfile, 'baseUrl' | 'probedAtMs' | 'uwi'>,
): ServiceProfile {
  const names = Object.keys(findingNames) as (keyof ProbeFindings)[];
  const values = Object.fromEntries(names.map((name) => [name, findings[name].value]));
  const evidence = names.map((name) => evidenceOf(findingNames[name], findings[name]));
  return { ...probed, ...(values as Pick<ServiceProfile, keyof ProbeFindings>), evidence };
}

function evidenceOf(finding: string, { value, because }: Finding<unknown>): ProfileEvidence {
  const shown = typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
  return { finding, value: shown, evidence: because };
}

/** No finding that reads go by: what the zone makes of the dates. */
function evidenceOfDates(rows: readonly ProbeRow[], timeZone: string): readonly ProfileEvidence[] {
  const instantsMs = rows.flatMap(({ instantMs }) => instantMs ?? []);
  const evidence = midnightNotice(Float64Array.from(instantsMs), timeZone);
  return evidence === undefined ? [] : [{ finding: 'dates', value: 'midnight UTC', evidence }];
}

// Separates refusals of a page, a limit or a well from failures of the service.

/** What was made of the page, or a refusal that may concern pages or limits. Throws every other error. */
export async function replyTo<Page>(page: Promise<Page>): Promise<Page | PermanentError> {
  try {
    return await page;
  } catch (error) {
    if (error instanceof PermanentError && refusalOf(error) !== undefined) return error;
    throw error;
  }
}

/** Many frameworks answer 422 to a parameter out of range, where others answer 400. */
export function refusalOf(error: PermanentError): 'not-found' | 'refused' | undefined {
  if (error instanceof NotFoundError) return 'not-found';
  return error.status === 400 || error.status === 422 ? 'refused' : undefined;
}
