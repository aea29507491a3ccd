/** What a publication stands on, what it is told, and what it tells. */
import type { ContractSettings } from '../../core/contract/tables.ts';
import type { FeedFormat, FeedLedger, FeedTables, ReadFeedFile } from '../port/feed.ts';
import type { FeedStore, StoredManifest } from './manifest.ts';

export interface PublisherParts {
  readonly store: FeedStore;
  readonly ledger: FeedLedger;
  readonly tables: FeedTables;
  readonly readFile: ReadFeedFile;
  /** The id of the warehouse, and the service that it belongs to. */
  readonly owner: { readonly warehouse: string; readonly service: string | null };
  readonly settings: PublisherSettings;
  readonly now: () => number;
}

export interface PublisherSettings {
  readonly format: FeedFormat;
  /** For datapackage.json, and the units in files. */
  readonly contract: ContractSettings;
  /** Of one pass: each pass ends with a version that readers see. */
  readonly maxMonths: number;
  readonly keepHours: number;
  /** Folder of this host for files on their way, and the beginning of their names there. */
  readonly folder: string;
  readonly filePrefix: string;
  readonly leaseMs: number;
  /** How long to wait while another process publishes. */
  readonly waitMs: number;
}

export interface Published {
  /** The version of the manifest, and whether this call made it. */
  readonly version: number;
  readonly isNew: boolean;
  readonly months: number;
  /** Files that were written, and their rows. */
  readonly files: number;
  readonly rows: number;
  readonly restatements: number;
  /** Old files that were removed. */
  readonly removed: number;
  /** Months that commits have touched meanwhile. */
  readonly monthsDue: number;
}

export interface Pass {
  readonly holder: string;
  /** What is in place. */
  readonly stored: StoredManifest | undefined;
  /** The highest version that was ever published. */
  readonly highest: number;
  /** Whether every month is written again, whatever the file of it that is named. */
  readonly allMonths: boolean;
  /** The same of the tables, and of restatements whose file was lost. */
  readonly allTables: boolean;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}
