/** Checks that need no configuration. Findings show names of variables only: values may be secret (G10). */
import { existsSync } from 'node:fs';
import { configFileVariable, defaultConfigFile } from '../../../config/config-file.ts';
import type { Environment } from '../../../config/load.ts';
import { knownVariables } from '../../../config/setting-names.ts';
import { listed } from '../../core/base/text.ts';
import { failed, type Finding, ok, warning } from './finding.ts';

const oldestNode = [20, 19] as const;

export function checksBeforeConfig(environment: Environment, configFlag: string | undefined): readonly Finding[] {
  return [nodeVersion(), configFile(environment, configFlag), ...variables(environment)];
}

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isEnough = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  if (isEnough) return ok('node', process.version);
  return failed('node', `${process.version} is too old`, { hint: `Install Node ${oldestNode.join('.')} or later.` });
}

function configFile(environment: Environment, flag: string | undefined): Finding {
  const named = flag ?? environment[configFileVariable];
  if (named === undefined || named === '') {
    return ok('config file', existsSync(defaultConfigFile) ? defaultConfigFile : 'none: defaults apply');
  }
  if (existsSync(named)) return ok('config file', named);
  return failed('config file', `there is no file ${named}`, {
    hint: `Check the path, and ${configFileVariable} where that names it.`,
  });
}

function variables(environment: Environment): readonly Finding[] {
  const set = Object.keys(environment).filter((name) => name.startsWith('WELLSYNC_') && environment[name] !== '');
  const known = set.filter((name) => knownVariables.includes(name));
  const unknown = set.filter((name) => !knownVariables.includes(name));
  const found = ok('environment', known.length === 0 ? 'no variable of wellsync is set' : listed(known));
  if (unknown.length === 0) return [found];
  const remedy = { hint: 'Check the spelling.', action: { kind: 'list-variables' } } as const;
  return [found, warning('environment', `without effect: ${listed(unknown)}`, remedy)];
}
