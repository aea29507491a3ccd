/** `wellsync probe`: finds undocumented behaviour of the service, and keeps it for the exports. */
import { counted } from '../../core/base/text.ts';
import type { ServiceProfile } from '../../core/paging/service-profile.ts';
import type { Call, ProgramCommand, Texts } from '../command.ts';

export function addProbeCommand(program: ProgramCommand): void {
  program
    .command('probe')
    .description('find how the service pages, limits, bounds and orders, and keep it for the exports')
    .option('--uwi <uwi>', 'a well with some months of data to ask for')
    .explained(explanation, ['wellsync probe', 'wellsync probe --uwi "15/9-F-1 C" --json'])
    .runs(probe);
}

const explanation = `
Asks for one well's daily production, with at most 12 requests (retries apart),
and prints what it found with the evidence. Without --uwi, wells of the warehouse and then of the
configuration are tried until one has data. What was found is kept in the
warehouse, and exports go by it; without a profile the first export probes by
itself, and one that no longer fits is found again.

Exit codes: 0 found; 1 no well has data, or the service refused; 2 no well is
known, or wrong use; 4 stopped by Ctrl-C; 5 could not reach the queue, the warehouse or the service.
`;

async function probe(call: Call<Texts<'uwi'>>): Promise<void> {
  const { probeService, profileDocument, wellsToProbe } = await import('../../app/service/service-requests.ts');
  const { atService } = await import('../carry-out.ts');
  const { options, output, stdin } = call;
  const config = await call.config();
  const { timeZone } = config;
  await using app = await call.openApp(config);
  const wells = await wellsToProbe(app, options, { stdin, names: { uwi: '--uwi' } });
  const { profile, requests } = await atService(app, output, (context, { signal }) =>
    probeService(context, wells, { timeZone, signal }),
  );
  await output.report(profileText(profile, requests, call), profileDocument(profile, requests));
}

function profileText(
  { baseUrl, uwi, evidence }: ServiceProfile,
  requests: number,
  { output, layout }: Call<unknown>,
): string {
  const rows = evidence.map((entry) => [entry.finding, entry.value, entry.evidence]);
  return [
    `${baseUrl} was probed by ${uwi}, with ${counted(requests, 'request')}.`,
    layout.tableText([{ head: 'What' }, { head: 'Found' }, { head: 'Evidence' }], rows, '', output.width),
    'Kept in the warehouse: exports of this service go by it.',
  ].join('\n\n');
}
