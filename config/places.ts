/**
 * Absolute paths of the data folder and the warehouse. A relative path of the configuration file, or a default, starts at
 * the installation: the folder of the file, or the one that holds `config/wellsync.yaml`. One of the environment or of a
 * flag starts at the working folder, which is another one under cron.
 */
import path from 'node:path';
import { isTree, type Tree } from './yaml-tree.ts';

export interface Places {
  readonly dataDir: string;
  readonly warehouseUrl: string;
  /** Whether the path of the warehouse is the same in every working folder. */
  readonly isWarehousePlaced: boolean;
}

/** `file`: the configuration file, if one is used. `above`: environment and flags. `set`: the merged settings. */
export function placesOf(
  set: { readonly dataDir: string; readonly warehouseUrl: string | undefined },
  { file, above }: { readonly file: string | undefined; readonly above: readonly Tree[] },
): Places {
  const installation = file === undefined ? undefined : installationOf(file);
  const baseOf = (isAbove: boolean): string | undefined => (isAbove ? undefined : installation);
  const dataBase = baseOf(above.some((layer) => layer['dataDir'] !== undefined));
  const dataDir = path.resolve(dataBase ?? '.', set.dataDir);
  if (set.warehouseUrl === undefined) {
    const isWarehousePlaced = path.isAbsolute(set.dataDir) || dataBase !== undefined;
    return { dataDir, warehouseUrl: `duckdb:${dataDir}/warehouse.duckdb`, isWarehousePlaced };
  }
  const base = baseOf(above.some(({ warehouse }) => isTree(warehouse) && warehouse['url'] !== undefined));
  const relative = relativePathOf(set.warehouseUrl);
  if (relative === undefined) return { dataDir, warehouseUrl: set.warehouseUrl, isWarehousePlaced: true };
  const warehouseUrl = `duckdb:${path.resolve(base ?? '.', relative)}`;
  return { dataDir, warehouseUrl, isWarehousePlaced: base !== undefined };
}

function installationOf(file: string): string {
  const folder = path.dirname(path.resolve(file));
  const isStandard = path.basename(file) === 'wellsync.yaml' && path.basename(folder) === 'config';
  return isStandard ? path.dirname(folder) : folder;
}

/** Undefined for an absolute path, and for what is no path of a file, which the warehouse refuses. */
function relativePathOf(url: string): string | undefined {
  const [, file = ''] = /^duckdb:(.+)$/is.exec(url) ?? [];
  const isOther = file === '' || path.isAbsolute(file) || /^[a-z][a-z0-9+.-]*:/i.test(file);
  return isOther ? undefined : file;
}
