/**
 * Creates certificates for the tests, with new keys each time: an authority, and certificates signed by it. Node can
 * sign but not compose a certificate, so this writes the parts of X.509 (RFC 5280 section 4.1) that a TLS peer
 * requires.
 */
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';

export interface Certified {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface Authority extends Certified {
  /** For a server at 127.0.0.1, or for a client. */
  certify(commonName: string): Certified;
  /** The same, with an encrypted key. */
  certifySealed(commonName: string, passphrase: string): Certified;
}

const tag = {
  integer: 0x02,
  bitString: 0x03,
  octets: 0x04,
  oid: 0x06,
  text: 0x0c,
  sequence: 0x30,
  set: 0x31,
  utc: 0x17,
};

function der(tagByte: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tagByte, ...head]), body]);
}

const bytes = (...values: readonly number[]): Buffer => Buffer.from(values);
const sequence = (...parts: readonly Uint8Array[]): Buffer => der(tag.sequence, ...parts);
/** 1.2.840.10045.4.3.2 */
const ecdsaWithSha256 = sequence(der(tag.oid, bytes(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02)));
/** 2.5.4.3 */
const commonNameOid = der(tag.oid, bytes(0x55, 0x04, 0x03));
const isTrue = der(0x01, bytes(0xff));

function nameOf(commonName: string): Buffer {
  return sequence(der(tag.set, sequence(commonNameOid, der(tag.text, Buffer.from(commonName)))));
}

/** 2.5.29.19 for an authority, 2.5.29.17 with the address 127.0.0.1 for the others. */
function extensionsOf(isAuthority: boolean): Buffer {
  const extension = isAuthority
    ? sequence(der(tag.oid, bytes(0x55, 0x1d, 0x13)), isTrue, der(tag.octets, sequence(isTrue)))
    : sequence(der(tag.oid, bytes(0x55, 0x1d, 0x11)), der(tag.octets, sequence(der(0x87, bytes(127, 0, 0, 1)))));
  return der(0xa3, sequence(extension));
}

function utc(atMs: number): Buffer {
  const text = new Date(atMs).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return der(tag.utc, Buffer.from(text.slice(2)));
}

function certificate(
  subject: { readonly name: string; readonly publicKey: KeyObject; readonly isAuthority: boolean },
  issuer: { readonly name: string; readonly privateKey: KeyObject },
): string {
  const hourMs = 3_600_000;
  const toSign = sequence(
    der(0xa0, der(tag.integer, bytes(2))),
    der(tag.integer, bytes(1), randomBytes(8)),
    ecdsaWithSha256,
    nameOf(issuer.name),
    sequence(utc(Date.now() - hourMs), utc(Date.now() + hourMs)),
    nameOf(subject.name),
    subject.publicKey.export({ type: 'spki', format: 'der' }),
    extensionsOf(subject.isAuthority),
  );
  const signature = sign('sha256', toSign, issuer.privateKey);
  const whole = sequence(toSign, ecdsaWithSha256, der(tag.bitString, bytes(0), signature));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

export function createAuthority(name = 'test authority'): Authority {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = { name, privateKey: own.privateKey };
  const certified = (commonName: string, sealing: { readonly cipher?: string; readonly passphrase?: string }) => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const cert = certificate({ name: commonName, publicKey, isAuthority: false }, issuer);
    return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem', ...sealing }).toString() };
  };
  return {
    cert: certificate({ name, publicKey: own.publicKey, isAuthority: true }, issuer),
    key: own.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certify: (commonName) => certified(commonName, {}),
    certifySealed: (commonName, passphrase) => certified(commonName, { cipher: 'aes-256-cbc', passphrase }),
  };
}
