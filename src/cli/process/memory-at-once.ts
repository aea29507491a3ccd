/**
 * The memory of a command that works, found without loading commands and configuration: a process that only starts
 * another one would take a tenth of a second for them.
 */
import { existsSync } from 'node:fs';
import { configFileVariable, defaultConfigFile, memoryVariable } from '../../../config/config-file.ts';
import type { Environment } from '../../../config/load.ts';
import { readSmallFile } from '../../../config/read-file.ts';
import { defaultMemoryMb, leastMemoryMb } from '../../core/base/memory-budget.ts';

/**
 * worker.memoryMb, for a command line that runs in a process with memory limits (G8); undefined for any other one, and
 * where only the whole configuration tells. The process with the limits reports what is wrong with either.
 */
export function memoryAtOnce(args: readonly string[], environment: Environment): number | undefined {
  const end = args.indexOf('--');
  const words = args.slice(0, end < 0 ? undefined : end);
  const works = words.includes('--inline') || words.includes('worker');
  if (!works || words.some((word) => ['--help', '-h', '--version', '-V', 'help'].includes(word))) return undefined;
  const given = environment[memoryVariable] ?? '';
  if (given !== '') return /^\d{3,7}$/.test(given) && Number(given) >= leastMemoryMb ? Number(given) : undefined;
  return mayNameMemory(words, environment) ? undefined : defaultMemoryMb;
}

/** Whether a configuration file may set worker.memoryMb: only one that has the word, or a character in another form. */
function mayNameMemory(words: readonly string[], environment: Environment): boolean {
  if (words.some((word) => word.startsWith('--config='))) return true;
  const flag = words.indexOf('--config');
  const named = flag < 0 ? environment[configFileVariable] : words[flag + 1];
  const file = named ?? (existsSync(defaultConfigFile) ? defaultConfigFile : undefined);
  if (file === undefined) return false;
  try {
    const settings = readSmallFile(file, 'the configuration file', '').replaceAll(/^\s*#.*$/gm, '');
    return /memoryMb|\\/.test(settings);
  } catch {
    return true;
  }
}
