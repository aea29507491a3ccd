import {
  adoptService as adopt,
  type Confirmation,
  moveService as move,
  serviceStatus,
} from '../../app/service/service-change.ts';
import { releaseService as release } from '../../app/service/service-view.ts';
import { holdDocument, outageDocument } from '../../app/runs/run-document.ts';
import { counted, instantText, listed } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { holdText, outageText } from '../../core/run/service-hold.ts';
import type { Invocation } from '../commands/command-line.ts';
import { ask, isAtTerminal } from '../process/question.ts';
import { configOf } from './config.ts';
import { appFor, openApp } from './open-app.ts';
import { operatorName } from './operator-name.ts';

export interface ServiceFlags {
  readonly dryRun?: true;
  readonly yes?: true;
}

export async function showService(invocation: Invocation<ServiceFlags>): Promise<ExitCode> {
  const { output } = invocation;
  await using app = openApp(configOf(invocation), output);
  const status = await serviceStatus(app);
  if (output.json) {
    const names = status.names.map(({ address, movedAtMs, movedBy }) => ({
      address,
      since: new Date(movedAtMs).toISOString(),
      by: movedBy,
    }));
    await output.document({ ...status, names });
    return exitCodes.done;
  }
  const names = status.names.map(
    ({ address, movedAtMs, movedBy }) => `Also known as ${address}, since ${instantText(movedAtMs)} by ${movedBy}.`,
  );
  const owner = status.service === null ? 'belongs to no service yet' : `belongs to the service ${status.service}`;
  await output.print([`${status.warehouse} ${owner}.`, ...names].join('\n'));
  return exitCodes.done;
}

export async function adoptService(invocation: Invocation<ServiceFlags>): Promise<ExitCode> {
  const { output, options, args } = invocation;
  await using app = openApp(configOf(invocation), output);
  const service = await adopt(app, args[0], confirmationOf(invocation));
  const dryRun = options.dryRun === true;
  if (output.json) await output.document({ service, warehouse: app.warehouse.location, dryRun });
  else
    await output.report(`${app.warehouse.location} ${dryRun ? 'would belong' : 'belongs'} to the service ${service}.`);
  return exitCodes.done;
}

export async function moveService(invocation: Invocation<ServiceFlags>): Promise<ExitCode> {
  const { output, options, args } = invocation;
  await using app = openApp(configOf(invocation), output);
  const [from = '', to = ''] = args;
  const records = await move(app, [from, to], confirmationOf(invocation));
  const { service } = await serviceStatus(app);
  const dryRun = options.dryRun === true;
  if (output.json) {
    await output.document({ service, ...records, dryRun });
    return exitCodes.done;
  }
  const { profiles, runs, pushes, plans } = records;
  const known = listed([
    counted(profiles, 'profile'),
    counted(runs, 'run'),
    counted(pushes, 'push', 'pushes'),
    counted(plans, 'cleanup plan'),
  ]);
  const ending = dryRun ? 'Dry run: nothing was changed.' : `The warehouse belongs to the service ${service ?? ''}.`;
  await output.report(`Known by the old name: ${known}.\n${ending}`);
  return exitCodes.done;
}

export async function releaseService(invocation: Invocation<ServiceFlags>): Promise<ExitCode> {
  const { output, options } = invocation;
  const dryRun = options.dryRun === true;
  await using app = appFor(configOf(invocation), output);
  const { hold, outage } = await release(app, { dryRun });
  if (output.json) {
    await output.document({ hold: holdDocument(hold), outage: outageDocument(outage), dryRun });
    return exitCodes.done;
  }
  const held = [
    ...(hold === undefined ? [] : [sentence(holdText(hold))]),
    ...(outage === undefined ? [] : [sentence(outageText(outage))]),
  ];
  const ending = dryRun ? 'Dry run: nothing was changed.' : released;
  await output.print(held.length === 0 ? 'No hold: requests may be sent.' : [...held, ending].join('\n'));
  return exitCodes.done;
}

const released = 'The hold is lifted: workers send requests again within seconds.';

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function confirmationOf({ options, output, stdin }: Invocation<ServiceFlags>): Confirmation {
  return {
    by: operatorName(),
    dryRun: options.dryRun === true,
    yes: options.yes === true,
    ask: isAtTerminal(stdin, output) ? (question) => ask(question, stdin, output) : undefined,
  };
}
