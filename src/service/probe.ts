/** Carries out the probe of a service (core/paging-probe.ts) and makes its profile of what was found. */
import { PermanentError } from '../core/errors.ts';
import { probe } from '../core/paging-probe.ts';
import type { Finding, ProbeAnswer, ProbeAsk, ProbeFindings, ProbeRow } from '../core/paging-probe-answers.ts';
import { productionCalendar, type ProductionCalendar } from '../core/production-day.ts';
import { checkRecord } from '../core/record-check.ts';
import type { ProfileEvidence, ServiceProfile } from '../core/service-profile.ts';
import { refusalOf, replyTo } from './page-reply.ts';
import type { CallOptions, ProbeRequest, ProductionDataService } from './production-data-service.ts';
import { keyOf } from './reading-tally.ts';
import type { RecordPage } from './record-page.ts';

export interface ProbeOptions extends CallOptions {
  readonly now?: () => number;
}

/**
 * Finds the profile of a service with at most `mostProbeRequests` requests (12), retries apart. What the well cannot tell
 * is `unknown`, with the reason among the evidence. Throws PermanentError `no-data` for a well without rows, and what the
 * port says of its calls: NotFoundError for a well that the service does not know.
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
      hint: 'Name another well with --uwi, one with some months of data.',
    });
  }
  const conversation = probe(plain);
  let step = conversation.next();
  while (step.done !== true) step = conversation.next(await answerTo(step.value));
  return profileOf(step.value, { baseUrl: service.baseUrl, probedAtMs: now(), uwi });

  async function answerTo(ask: ProbeAsk): Promise<ProbeAnswer> {
    const reply = await replyTo(service.fetchDailyProductionPage({ uwi, ...ask }, options));
    if (reply instanceof PermanentError) return { kind: refusalOf(reply) ?? 'refused' };
    return { kind: 'page', rows: rowsOf(reply, calendar) };
  }
}

function rowsOf(page: RecordPage, calendar: ProductionCalendar): readonly ProbeRow[] {
  return page.records.map((raw, index) => {
    const checked = checkRecord(raw, calendar, page.textOf(index));
    return { key: keyOf(checked), instantMs: checked.kind === 'row' ? checked.row.instantMs : checked.instantMs };
  });
}

/** In the order of the operator's table. */
const findingWords: Readonly<Record<keyof ProbeFindings, string>> = {
  pageBase: 'first page',
  belowFirst: 'below the first page',
  pastLast: 'past the last page',
  pagingHonoured: 'page is heeded',
  limitHonoured: 'limit is heeded',
  defaultLimit: 'rows without a limit',
  maxLimit: 'largest limit',
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
  const names = Object.keys(findingWords) as (keyof ProbeFindings)[];
  const values = Object.fromEntries(names.map((name) => [name, findings[name].value]));
  const evidence = names.map((name) => evidenceOf(findingWords[name], findings[name]));
  return { ...probed, ...(values as Pick<ServiceProfile, keyof ProbeFindings>), evidence };
}

function evidenceOf(finding: string, { value, because }: Finding<unknown>): ProfileEvidence {
  const shown = typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
  return { finding, value: shown, evidence: because };
}
