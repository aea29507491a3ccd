/**
 * What an error of the server or of a connection to it means, by its SQLSTATE, which PostgreSQL documents in "Error
 * Codes"; an error of a connection has a code of Node, or none.
 */
import { OutageError, TransientError, UnreachableError, WellsyncError } from '../../../core/base/errors.ts';
import { codeOf } from '../../../core/base/file-fault.ts';
import type { PostgresAddress } from './connections.ts';

/** The SQLSTATE of an error that the server reported; undefined for any other error. */
export function sqlStateOf(error: unknown): string | undefined {
  const isFromServer = error instanceof Error && 'severity' in error && 'code' in error;
  return isFromServer ? String(error.code) : undefined;
}

/** Another transaction stood in the way: the same work may succeed at once. */
export function isConflict(error: unknown): boolean {
  return ['40001', '40P01'].includes(sqlStateOf(error) ?? '');
}

const lostConnection =
  /^(?:Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|timeout expired|Client was closed)|stream was destroyed/i;
const networkCode =
  /^(?:ECONN[A-Z]+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|ENOENT|EACCES)$/;

/** The connection is gone, or the server is starting, stopping or changing places. */
export function isLostConnection(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined) return /^(?:08...|57P0[1235])$/.test(state);
  if (!(error instanceof Error) || error instanceof WellsyncError) return false;
  return networkCode.test(codeOf(error)) || lostConnection.test(error.message);
}

type Fault = (address: PostgresAddress, error: Error) => WellsyncError;

const accessHint = 'See docs/postgres.md for the rights that wellsync needs, and the statements that grant them.';
const passwordHint =
  'Check the user in WELLSYNC_WAREHOUSE, and its password: in the file of warehouse.passwordFile, in PGPASSWORD, or in the address.';

/** The words of the server where no line of its pg_hba.conf fits: it has lines for connections with TLS alone (hostssl). */
const noEncryption = /no encryption|SSL off/i;
const roleHint = 'Create the role with the right to log in, and let it in from this host (pg_hba.conf).';
const encryptionHint =
  'It may let this user in by TLS alone: set sslmode=verify-full in the address, with sslrootcert=FILE for an authority of your own. ' +
  'If it does not, let the role in from this host (pg_hba.conf).';

type Text = string | ((address: PostgresAddress, error: Error) => string);

/** Someone has to change something before the warehouse can be used. */
function unreachable(message: Text, hint: Text): Fault {
  return (address, cause) => {
    const textOf = (text: Text): string => (typeof text === 'string' ? text : text(address, cause));
    return new UnreachableError('warehouse', textOf(message), { hint: textOf(hint), cause });
  };
}

/** The state passes. */
function outage(state: string, hint: string): Fault {
  return ({ location }, cause) => {
    const message = `the warehouse ${location} cannot be used: ${state}`;
    return new OutageError('warehouse', 'warehouse-outage', message, { hint, cause });
  };
}

const lackOfRight = unreachable(
  ({ location, user }, { message }) => `${location}: ${user} lacks a right: ${message}`,
  accessHint,
);

/** By SQLSTATE. */
const faults: Readonly<Record<string, Fault>> = {
  '28P01': unreachable(
    ({ location, user }) => `${location} does not let ${user} in with this password, or without one`,
    passwordHint,
  ),
  '28000': unreachable(
    ({ location, user }, { message }) => `${location} does not let ${user} in: ${message}`,
    ({ tls }, { message }) => (tls === undefined && noEncryption.test(message) ? encryptionHint : roleHint),
  ),
  '3D000': unreachable(
    ({ location, database }) => `${location}: the server has no database ${database}`,
    `Create it (CREATE DATABASE), or correct WELLSYNC_WAREHOUSE. ${accessHint}`,
  ),
  '42501': lackOfRight,
  // No schema in which the role may create.
  '3F000': lackOfRight,
  '25006': outage('it takes no writes now, as a standby does', 'See whether it fails over, or name its primary.'),
  '53100': outage('its disk is full', 'Make room there: the work goes on then.'),
  '53200': outage('it has no memory left', 'See its log, and work_mem and max_connections of the server.'),
  '53300': outage('it has no connection left', 'Raise max_connections of the server, or run fewer workers.'),
  '55P03': ({ location }, cause) =>
    new TransientError('warehouse-busy', `${location}: another transaction holds the same rows for long`, {
      hint: 'See pg_stat_activity for transactions that stay open.',
      cause,
    }),
};

const untrusted = unreachable(
  ({ location }, { message }) => `${location}: its certificate is not trusted: ${message}`,
  'Name its authority by sslrootcert=FILE in the address. The name in the certificate must be that of the host. ' +
    'sslmode=require checks both here; sslmode=no-verify checks neither.',
);
const withoutTls = unreachable(
  ({ location }) => `${location} takes no connection by TLS`,
  'Turn ssl on at the server; in a network that you trust, sslmode=disable in the address goes without.',
);
const silent = unreachable(
  ({ location }, error) => `the warehouse ${location} does not answer: ${reasonOf(error)}`,
  'See whether PostgreSQL runs there, and whether this host may reach it; or correct WELLSYNC_WAREHOUSE.',
);

const certificateCode = /^(?:.*CERT.*|UNABLE_TO_.*|ERR_TLS_.*|ERR_SSL_.*|EPROTO|HOSTNAME_MISMATCH)$/;

/** Converts an error to wellsync's classes; one that none of them fits comes back as it is. */
export function classified(error: unknown, address: PostgresAddress): unknown {
  if (!(error instanceof Error) || error instanceof WellsyncError) return error;
  return faultOf(error)?.(address, error) ?? error;
}

function faultOf(error: Error): Fault | undefined {
  const fault = faults[sqlStateOf(error) ?? ''];
  if (fault !== undefined) return fault;
  if (certificateCode.test(codeOf(error))) return untrusted;
  if (/does not support SSL/i.test(error.message)) return withoutTls;
  return isLostConnection(error) ? silent : undefined;
}

function reasonOf(error: Error): string {
  const reasons: Readonly<Record<string, string>> = {
    ECONNREFUSED: 'nothing listens there',
    ENOTFOUND: 'its host is not known',
    EAI_AGAIN: 'its host is not known now',
    ECONNRESET: 'it ended the connection',
    ENOENT: 'there is no such socket',
  };
  return reasons[codeOf(error)] ?? (error.message === '' ? codeOf(error) : error.message);
}
