/** Decides how a profile of the service reads, as a table with its evidence and as JSON. Pure. */
import type { ServiceProfile } from '../core/service-profile.ts';
import { tableText } from './table.ts';
import { counted } from './words.ts';

export function profileDocument({ probedAtMs, ...profile }: ServiceProfile, requests: number): object {
  return { ...profile, probedAt: new Date(probedAtMs).toISOString(), requests };
}

export function profileText({ baseUrl, uwi, evidence }: ServiceProfile, requests: number): string {
  const rows = evidence.map((entry) => [entry.finding, entry.value, entry.evidence]);
  return [
    `${baseUrl} was probed by ${uwi}, with ${counted(requests, 'request')}.`,
    tableText([{ head: 'What' }, { head: 'Found' }, { head: 'Evidence' }], rows),
    'Kept in the warehouse: exports of this service go by it.',
  ].join('\n\n');
}
