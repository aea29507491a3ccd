/** The settings of `wellsync serve`: where it listens, who is let in, and what a request may bring. */
import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { roles } from '../src/core/base/action.ts';
import { isDay } from '../src/core/run/token-expiry.ts';

const role = z.enum(roles, { error: `must be one of ${roles.join(', ')}` });
const count = (fallback: number) => z.number().int().positive().default(fallback);

/** The name of a token stands in runs, plans and the audit. */
const clientName = z.string().regex(/^[\w.@-]{1,80}$/, 'may hold up to 80 letters, digits, ., @, - and _');

export function isClientName(text: string): boolean {
  return clientName.safeParse(text).success;
}

/** The token itself is in no configuration: `wellsync token create` shows it once, beside its hash. */
const token = z.strictObject({
  name: clientName,
  role,
  sha256: z.string().regex(/^[\da-f]{64}$/, 'must be the hash that wellsync token create shows: 64 digits from 0 to f'),
  /** Its last day: it ends with it, in UTC. */
  expires: z.string().refine(isDay, 'must be the last day of the token, such as 2027-01-31').exactOptional(),
});

const addressOrNetwork = z
  .string()
  .refine(isNetwork, 'must be an address or a network, such as 10.1.2.3, 10.1.0.0/16 or fd00::/8');

export const httpSettings = z
  .strictObject({
    host: z.string().trim().min(1).default('127.0.0.1'),
    port: z.number().int().min(0).max(65_535).default(8_080),
    tokens: z
      .array(token)
      .refine((tokens) => new Set(tokens.map(({ name }) => name)).size === tokens.length, {
        error: 'name every token differently: its name says who did what',
      })
      .default([]),
    trustedProxies: z.array(addressOrNetwork).default([]),
    userHeader: z
      .string()
      .regex(/^[\w-]+$/, 'must be the name of a header, such as x-forwarded-user')
      .toLowerCase()
      .default('x-forwarded-user'),
    users: z.record(clientName, role).default({}),
    otherUsers: role.optional(),
    requestsPerMinute: count(600),
    maxBodyMb: count(8),
    maxUploadMb: count(1_024),
    maxUnpackedMb: count(8_192),
    maxStreams: count(1_000),
  })
  .prefault({});

export type HttpSettings = Readonly<z.output<typeof httpSettings>>;

/** The addresses of a list that the schema has checked. */
export function networksOf(addresses: readonly string[]): BlockList {
  const list = new BlockList();
  for (const each of addresses) addTo(list, each);
  return list;
}

function addTo(list: BlockList, given: string): void {
  const [address = '', prefix] = given.split('/');
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (prefix === undefined) list.addAddress(address, family);
  else list.addSubnet(address, Number(prefix), family);
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (rest.length > 0 || bits < 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}
