/** The users of docs/redis.md, with exactly the rights that stand there. */
import { readFileSync } from 'node:fs';
import { atNode } from './redis-topologies.ts';

export const redisUser = { username: 'wellsync', password: 'right-and-long' } as const;
export const redisPrefix = 'wellsync';

/** Gives servers the rights of the line `ACL SETUSER` that contains these words. */
export async function giveRights(urls: readonly string[], words: string): Promise<void> {
  const lines = readFileSync('docs/redis.md', 'utf8').split('\n');
  const line = lines.find((each) => each.startsWith('ACL SETUSER') && each.includes(words));
  if (line === undefined) throw new Error(`docs/redis.md has no rights with ${words}`);
  const [, ...rights] = line.replace('PASSWORD', redisUser.password).split(' ');
  for (const url of urls) await atNode({ url }, (redis) => redis.call('ACL', ...rights));
}
