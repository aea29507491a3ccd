/** The text of a service profile for a terminal: a table with its evidence. Pure. */
import type { ServiceProfile } from '../../core/paging/service-profile.ts';
import { tableText } from './table.ts';
import { counted } from '../../core/base/text.ts';

export function profileText({ baseUrl, uwi, evidence }: ServiceProfile, requests: number, width: number): string {
  const rows = evidence.map((entry) => [entry.finding, entry.value, entry.evidence]);
  return [
    `${baseUrl} was probed by ${uwi}, with ${counted(requests, 'request')}.`,
    tableText([{ head: 'What' }, { head: 'Found' }, { head: 'Evidence' }], rows, '', width),
    'Kept in the warehouse: exports of this service go by it.',
  ].join('\n\n');
}
