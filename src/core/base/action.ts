/** What an operator may do next, and the roles of whoever asks. */
import type { QueueKind } from '../run/warehouse-queue.ts';
import type { Backfill } from '../verify/difference.ts';

/** An operator's next action, as data. Each face words it for its own users: a command, a button, a link. */
export type Action =
  | NextAction
  /** Show the report of a run. */
  | { readonly kind: 'show-run'; readonly runId: string }
  /** See why a run does not move, and end it if it never will. */
  | { readonly kind: 'look-at-run'; readonly runId: string }
  | { readonly kind: 'list-runs' }
  /** List the rows that runs hold. */
  | { readonly kind: 'list-held' }
  /** Accept records in quarantine as they are. */
  | { readonly kind: 'accept-alerts'; readonly ids: readonly string[] }
  /** Date all rows by the zones of now. */
  | { readonly kind: 'rezone' }
  | { readonly kind: 'start-worker' }
  /** List what was changed of older days since a time, milliseconds since 1970. */
  | { readonly kind: 'show-restated'; readonly sinceMs: number }
  /** Show what checks found of a well. */
  | { readonly kind: 'show-findings'; readonly uwi: string }
  /** Fill a warehouse that does not exist yet. */
  | { readonly kind: 'first-export' }
  /** Probe the service by another well: this one has no data. */
  | { readonly kind: 'probe-other-well' }
  /** Save the result of a query outside the warehouse. */
  | { readonly kind: 'save-query-result' }
  /** Push the file again and insist on the wide form. */
  | { readonly kind: 'push-wide' }
  /** Push a file again that was pushed by an earlier version. */
  | { readonly kind: 'push-again'; readonly file: string; readonly form: 'auto' | 'wide' | 'long' }
  /** Push the file again without the columns that wellsync does not know. */
  | { readonly kind: 'ignore-unknown-columns' }
  /** Push the file again and say what stands between its cells. */
  | { readonly kind: 'name-delimiter'; readonly delimiter: string }
  /** Ask again and say that the list may be empty. */
  | { readonly kind: 'allow-empty' }
  /** Put the targets of several pieces of equipment into a file. */
  | { readonly kind: 'cleanup-from-file' }
  /** Check the parts again and ask the service for another well. */
  | { readonly kind: 'doctor-well' }
  | { readonly kind: 'list-variables' }
  /** Let nobody but its owner read a file; `owner`: the user id of this process, where the file is another one's. */
  | { readonly kind: 'protect-file'; readonly file: string; readonly owner: number | undefined }
  /** Name the service that a warehouse belongs to, when its records do not name it. */
  | { readonly kind: 'adopt-service' }
  /** Make this installation the owner of its inbox. */
  | { readonly kind: 'adopt-inbox' }
  | { readonly kind: 'show-service' }
  /** Replace a file that is there. */
  | { readonly kind: 'overwrite' }
  /** Send requests although the service asked all to wait. */
  | { readonly kind: 'release-service' }
  /** Confirm a change where nobody can be asked, after a look at what it would do. */
  | { readonly kind: 'confirm-unattended' }
  /** Make a token of the HTTP API in place of one that ends. */
  | { readonly kind: 'replace-token'; readonly name: string; readonly role: Role }
  /** Work a warehouse through a queue of this kind from now on. */
  | { readonly kind: 'use-queue'; readonly queue: QueueKind }
  /** Record the new address of a service. */
  | { readonly kind: 'move-service'; readonly from: string; readonly to?: string }
  /** Set a missing setting, named as in the configuration file: `service.url`. */
  | { readonly kind: 'set-setting'; readonly setting: string }
  /** Correct the address in a setting, or start the server at that address. */
  | { readonly kind: 'check-address'; readonly setting: string };

/** Actions that a job can propose below the report of a run. */
export type NextAction =
  /** Read these days of these wells again, of all wells in the warehouse where none is named. */
  | ({ readonly kind: 'backfill' } & Backfill)
  /** List what needs a person. */
  | { readonly kind: 'list-alerts' }
  /** Retry the failed, cancelled and unknown units of a run. */
  | { readonly kind: 'retry-run'; readonly runId: string }
  /** Let the rows go that a run holds. */
  | { readonly kind: 'release-rows'; readonly runId: string }
  /** Show which days have a row, and which not. */
  | { readonly kind: 'show-coverage' }
  /** Show the records that broke the contract. */
  | { readonly kind: 'show-quarantine' }
  /** List the wells whose daily production the service does not know. */
  | { readonly kind: 'show-unknown' }
  /** List the source wells and the equipment that the service does not know. */
  | { readonly kind: 'show-unknown-definitions' }
  /** List the wells without a new day for long. */
  | { readonly kind: 'show-stale' }
  /** Get the rows that a push rejected. */
  | { readonly kind: 'get-rejects'; readonly runId: string }
  /** List every target of a cleanup with its outcome. */
  | { readonly kind: 'audit-run'; readonly runId: string }
  /** Make a new plan for the targets that are not gone. */
  | { readonly kind: 'plan-cleanup' };

// What a client of the HTTP API may do (docs/design.md section 11).

/** In rising order: each may do what those before it may. */
export const roles = ['read', 'operate', 'delete'] as const;
export type Role = (typeof roles)[number];

export function mayActAs(given: Role, needed: Role): boolean {
  return roles.indexOf(given) >= roles.indexOf(needed);
}
