/** The identity of a service (G11): the warehouse, the queues and the rate limits are kept by its key. */

import { UsageError } from './errors.ts';

/** A service as the configuration names it. Neither part holds a secret (G10). */
export interface ServiceIdentity {
  /** `service.id`, or the normalised address when no id is set. */
  readonly key: string;
  /** The normalised address, under which older records know the service. */
  readonly address: string;
}

/**
 * The normalised form of an address: scheme and host in lower case (a host name outside ASCII in Punycode), no default
 * port, no final slash, no user, password, query or fragment. The path keeps its case. Undefined for anything but http
 * and https.
 */
export function normalAddress(address: string): string | undefined {
  const url = URL.parse(address.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Undefined when the address is not an http or https address. */
export function serviceIdentity(address: string, id: string | undefined): ServiceIdentity | undefined {
  const normal = normalAddress(address);
  return normal === undefined ? undefined : { key: id ?? normal, address: normal };
}

/** Matches no address, so that an id and an address cannot be confused. */
export const serviceIdPattern = /^[\w.-]+$/;

/**
 * The service key for an operator's input: an address is normalised, an id is unchanged. Throws UsageError for anything
 * else.
 */
export function serviceKeyOf(text: string): string {
  const key = normalAddress(text) ?? text.trim();
  if (normalAddress(key) !== undefined || serviceIdPattern.test(key)) return key;
  // The message does not repeat the input: it may hold a password (G10).
  throw new UsageError('the name of the service is neither an http or https address nor an id', {
    hint: 'Write it like https://pds.example.com, or like service.id: letters, digits, ., - and _.',
  });
}

/** `production (https://pds.example.com)`, or the address alone when no id is set. */
export function shownService({ key, address }: ServiceIdentity): string {
  return key === address ? address : `${key} (${address})`;
}
