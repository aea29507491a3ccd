import { probeService, profileDocument, wellsToProbe } from '../../app/service/probe.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import { profileText } from '../text/profile.ts';
import { atService } from './at-service.ts';
import { configOf } from './config.ts';
import { appFor } from './open-app.ts';

export interface ProbeOptions {
  readonly uwi?: string;
}

export async function probe(invocation: Invocation<ProbeOptions>): Promise<ExitCode> {
  const { options, output, stdin } = invocation;
  const config = configOf(invocation);
  const { timeZone } = config;
  await using app = appFor(config, output);
  const wells = await wellsToProbe(app, options, { stdin, names: { uwi: '--uwi' } });
  const { profile, requests } = await atService(app, output, (context, { signal }) =>
    probeService(context, wells, { timeZone, signal }),
  );
  if (output.json) await output.document(profileDocument(profile, requests));
  else await output.report(profileText(profile, requests, output.width));
  return exitCodes.done;
}
