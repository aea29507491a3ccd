/** `wellsync contract`: what the tables of the warehouse promise to their readers, for other tools to check. */
import { UsageError } from '../../core/base/errors.ts';
import type { Call, Flags, ProgramCommand, Texts } from '../command.ts';

export function addContractCommand(program: ProgramCommand): void {
  program
    .command('contract')
    .description('print the contract of the warehouse: columns, units, keys, freshness and checks')
    .option('--output <file>', 'write it to this file')
    .option('--overwrite', 'replace the file of --output if it exists')
    .explained(explanation, [
      'wellsync contract --output wellsync.odcs.yaml',
      'datacontract test wellsync.odcs.yaml --server warehouse',
    ])
    .runs(showContract);
}

const explanation = `
YAML of the Open Data Contract Standard 3.1.0 (--json: the same as JSON). Units
are those of the setting units, freshness is that of freshness.warnAfterDays. It
names the warehouse and the feed, and holds no secret.
`;

type ContractOptions = Flags<'overwrite'> & Texts<'output'>;

async function showContract(call: Call<ContractOptions>): Promise<void> {
  const { contractDocument, contractText, writeContract } = await import('../../app/warehouse/contract.ts');
  const { options, output } = call;
  const { output: file, overwrite } = options;
  if (overwrite && file === undefined) throw new UsageError('--overwrite needs --output');
  await using app = await call.openStored();
  if (file !== undefined) {
    const names = { file: '--output', overwrite: '--overwrite' };
    const target = { file, isOverwritten: overwrite ?? false };
    const written = await writeContract(app, await contractText(app), target, names);
    return await output.print(`The contract was written to ${written}.`, { file: written });
  }
  if (output.json) await output.document(await contractDocument(app));
  else await output.write(await contractText(app));
}
