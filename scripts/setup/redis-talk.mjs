/** Owns a few words of Redis's protocol over a bare socket: enough to know, before anything is installed, who answers. */
import { connect as connectPlain } from 'node:net';
import { connect as connectTls } from 'node:tls';

/**
 * @typedef {object} RedisAnswer
 * @property {string} version of Redis, or the Redis version that a Valkey stands for
 * @property {string} evictionPolicy
 */

/** @param {readonly string[]} words */
function encodeCommand(words) {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}

/** @param {URL} url */
function conversation({ username, password }) {
  const secret = decodeURIComponent(password);
  const login = username === '' ? ['AUTH', secret] : ['AUTH', decodeURIComponent(username), secret];
  // After QUIT the server closes the connection: everything that it has to say has then come.
  const commands = [...(secret === '' ? [] : [login]), ['PING'], ['INFO'], ['QUIT']];
  return commands.map(encodeCommand).join('');
}

/**
 * @param {URL} url
 * @param {number} timeoutMs
 * @returns {Promise<string>}
 */
function converse(url, timeoutMs) {
  const address = { host: url.hostname.replaceAll(/^\[|\]$/g, ''), port: Number(url.port || 6379) };
  return new Promise((resolve, reject) => {
    const socket = url.protocol === 'rediss:' ? connectTls(address) : connectPlain(address);
    let heard = '';
    socket
      .setEncoding('utf8')
      .setTimeout(timeoutMs, () => socket.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    socket.on('data', (text) => (heard += String(text)));
    socket.on('error', reject);
    socket.on('close', () => resolve(heard));
    socket.write(conversation(url));
  });
}

/**
 * Who answers at a Redis URL. Rejects with the reason, free of secrets, where nobody does or a login is refused.
 * @param {string} url
 * @param {number} [timeoutMs]
 * @returns {Promise<RedisAnswer>}
 */
export async function askRedis(url, timeoutMs = 2000) {
  const heard = await converse(new URL(url), timeoutMs);
  const refusal = /^-(.*)\r$/m.exec(heard);
  if (refusal) throw new Error(`it answers: ${refusal[1]}`);
  if (!/^\+PONG\r$/m.test(heard)) throw new Error('what answers there is not a Redis');
  return {
    version: /^redis_version:(.*)\r$/m.exec(heard)?.[1] ?? 'unknown',
    evictionPolicy: /^maxmemory_policy:(.*)\r$/m.exec(heard)?.[1] ?? 'unknown',
  };
}
