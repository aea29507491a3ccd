/** The byte proxy: what passes, what a fault stops, and what is there again when it ends. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ByteProxy, startByteProxy } from './proxy.ts';

/** One end of a connection, with all that it got. */
interface End {
  readonly socket: Socket;
  readonly got: () => Buffer;
  /** How it ended: `FIN`, or the code of an error; undefined while it is open. */
  readonly ended: () => string | undefined;
}

function endOf(socket: Socket): End {
  const chunks: Buffer[] = [];
  let ended: string | undefined;
  socket
    .on('data', (chunk: Buffer) => chunks.push(chunk))
    .on('end', () => (ended ??= 'FIN'))
    .on('error', (error: NodeJS.ErrnoException) => (ended = error.code));
  onTestFinished(() => void socket.destroy());
  return { socket, got: () => Buffer.concat(chunks), ended: () => ended };
}

interface Scene {
  readonly proxy: ByteProxy;
  /** The server's ends, in the order of their connections. */
  readonly accepted: readonly End[];
  readonly serverPort: number;
  client(): Promise<End>;
  /** A client and its server's end, which have spoken. */
  pair(): Promise<readonly [client: End, server: End]>;
}

async function scene(): Promise<Scene> {
  const accepted: End[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => accepted.push(endOf(socket))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const serverPort = (server.address() as AddressInfo).port;
  const proxy = await startByteProxy({ target: { host: '127.0.0.1', port: serverPort }, name: 'test' });
  onTestFinished(async () => {
    await proxy[Symbol.asyncDispose]();
    server.close();
  });
  const client = async (): Promise<End> => {
    const socket = connect({ port: proxy.port, host: proxy.host, allowHalfOpen: true });
    const end = endOf(socket);
    await once(socket, 'connect');
    return end;
  };
  return {
    proxy,
    accepted,
    serverPort,
    client,
    async pair() {
      const [near, before] = [await client(), accepted.length];
      near.socket.write('hello');
      await expect.poll(() => accepted[before]?.got().toString()).toBe('hello');
      const far = accepted[before] as End;
      far.socket.write('hello');
      await expect.poll(() => near.got().toString()).toBe('hello');
      return [near, far];
    },
  };
}

/** What an end got after the greeting. */
function after({ got }: End): string {
  return got().subarray('hello'.length).toString();
}

const directions = ['up', 'down'] as const;

/** The sender and the receiver of a direction. */
function roles<T>([near, far]: readonly [T, T], direction: 'up' | 'down'): readonly [sender: T, receiver: T] {
  return direction === 'up' ? [near, far] : [far, near];
}

describe('the byte proxy of a storm', () => {
  it('passes bytes unchanged, and counts them, whichever side ends first', async () => {
    const { proxy, pair } = await scene();
    const [near, far] = await pair();
    const bytes = randomBytes(3_000_000);
    near.socket.end(bytes);
    await expect.poll(far.ended).toBe('FIN');
    far.socket.end('bye');
    await expect.poll(near.ended).toBe('FIN');
    expect(far.got().subarray(5).equals(bytes)).toBe(true);
    expect(after(near)).toBe('bye');
    await expect.poll(() => proxy.counts.open).toBe(0);
    expect(proxy.counts).toEqual({ connections: 1, open: 0, up: bytes.length + 5, down: 8, cuts: 0 });
  });

  it('holds a sender whose receiver does not read', async () => {
    const { proxy, pair } = await scene();
    const [near, far] = await pair();
    far.socket.pause();
    const bytes = Buffer.alloc(64_000_000, 7);
    near.socket.write(bytes);
    let last = -1;
    // Until the kernels and the proxy are full: what was passed on stays the same.
    await expect
      .poll(() => [last, (last = proxy.counts.up)], { interval: 200 })
      .toSatisfy(([before, now]: number[]) => now !== 5 && before === now);
    expect(last).toBeLessThan(bytes.length / 2);
    far.socket.resume();
    await expect.poll(() => far.got().length).toBe(bytes.length + 5);
  });

  it.each(directions)('passes bytes %s unchanged under a drip and a delay', async (direction) => {
    const { proxy, pair } = await scene();
    const [sender, receiver] = roles(await pair(), direction);
    const sizes: number[] = [];
    receiver.socket.on('data', (chunk) => sizes.push(chunk.length));
    const releases = [proxy.drip({ forMs: 60_000 }), proxy.delay(5)];
    const bytes = randomBytes(150);
    sender.socket.write(bytes.subarray(0, 100));
    sender.socket.write(bytes.subarray(100));
    await expect.poll(() => receiver.got().subarray(5).equals(bytes)).toBe(true);
    // The kernel may join some of them.
    expect(sizes.length).toBeGreaterThan(20);
    await Promise.all(releases.map((release) => release()));
  });

  it('ends a drip by itself: the rest of a chunk then passes as a whole', async () => {
    const { proxy, pair } = await scene();
    const [near, far] = await pair();
    void proxy.drip({ forMs: 100, everyMs: 20 });
    const bytes = randomBytes(60_000);
    near.socket.write(bytes);
    await expect.poll(() => far.got().subarray(5).equals(bytes)).toBe(true);
  });

  it.each(directions.flatMap((direction) => [1, 1_000, 70_000].map((afterBytes) => ({ direction, afterBytes }))))(
    'cuts by RST behind exactly $afterBytes bytes $direction',
    async ({ direction, afterBytes }) => {
      const { proxy, pair } = await scene();
      const [sender, receiver] = roles(await pair(), direction);
      const bytes = randomBytes(200_000);
      void proxy.cut({ direction, afterBytes, connections: 1 });
      sender.socket.write(bytes);
      await expect.poll(() => [sender.ended(), receiver.ended()]).toEqual(['ECONNRESET', 'ECONNRESET']);
      expect(receiver.got().subarray(5).equals(bytes.subarray(0, afterBytes))).toBe(true);
      expect(proxy.counts.cuts).toBe(1);
    },
  );

  it('cuts as many connections as it was asked to, and lets the next ones pass', async () => {
    const { proxy, pair, client, accepted } = await scene();
    const [now] = await pair();
    void proxy.cut({ direction: 'up', afterBytes: 3, connections: 2, of: 'next' });
    for (const end of [await client(), await client()]) {
      end.socket.write('abcdef');
      await expect.poll(end.ended).toBe('ECONNRESET');
    }
    const last = await client();
    for (const end of [now, last]) end.socket.write('abcdef');
    await expect
      .poll(() => accepted.map(({ got }) => got().toString()))
      .toEqual(['helloabcdef', 'abc', 'abc', 'abcdef']);
    expect(proxy.counts.cuts).toBe(2);
  });

  it('cuts at once, and connections that come, where no byte is passed on', async () => {
    const { proxy, pair, client } = await scene();
    const [now] = await pair();
    const release = proxy.cut({ direction: 'down', afterBytes: 0 });
    await expect.poll(now.ended).toBe('ECONNRESET');
    const next = await client();
    await expect.poll(next.ended).toBe('ECONNRESET');
    await release();
    await pair();
  });

  it('forwards nothing in a black hole, keeps and accepts connections, and resets those with a gap at its end', async () => {
    const { proxy, pair, client, accepted } = await scene();
    const [[spoken, spokenTo], [quiet, quietTo]] = [await pair(), await pair()];
    const release = proxy.blackHole();
    const [late, lateQuiet] = [await client(), await client()];
    const passed = { ...proxy.counts };
    spoken.socket.write('lost');
    quietTo.socket.pause();
    late.socket.end('lost as well');
    await expect.poll(() => late.socket.bytesWritten).toBe(12);
    // Four round trips of another connection later, everything lost has come to the proxy.
    await pingBeside();
    expect({ ...proxy.counts }).toEqual(passed);
    expect([spoken, spokenTo, quiet, late, lateQuiet].map(({ ended }) => ended())).toEqual(Array(5).fill(undefined));
    expect(accepted).toHaveLength(2);
    await release();
    await expect.poll(() => [spoken.ended(), spokenTo.ended()]).toEqual(['ECONNRESET', 'ECONNRESET']);
    await expect.poll(late.ended).toBe('ECONNRESET');
    quietTo.socket.resume();
    quiet.socket.write('kept');
    lateQuiet.socket.write('too');
    await expect.poll(() => [after(quietTo), accepted[2]?.got().toString()]).toEqual(['kept', 'too']);
    expect(after(spokenTo)).toBe('');
  });

  it('ends a black hole by itself after its time', async () => {
    const { proxy, client, accepted } = await scene();
    void proxy.blackHole({ forMs: 100 });
    const late = await client();
    await expect.poll(() => accepted.length).toBe(1);
    late.socket.write('through');
    await expect.poll(() => accepted[0]?.got().toString()).toBe('through');
  });

  it.each(directions)('lets the direction %s go deaf while the other one goes on', async (direction) => {
    const { proxy, pair } = await scene();
    const [sender, receiver] = roles(await pair(), direction);
    const release = proxy.halfOpen({ direction, how: 'deaf' });
    sender.socket.write('lost');
    receiver.socket.write('goes on');
    await expect.poll(() => after(sender)).toBe('goes on');
    expect([after(receiver), receiver.ended(), sender.ended()]).toEqual(['', undefined, undefined]);
    await release();
    await expect.poll(() => [sender.ended(), receiver.ended()]).toEqual(['ECONNRESET', 'ECONNRESET']);
    expect(after(receiver)).toBe('');
  });

  it.each(directions)('ends the direction %s by FIN while the other one goes on', async (direction) => {
    const { proxy, pair } = await scene();
    const [sender, receiver] = roles(await pair(), direction);
    const release = proxy.halfOpen({ direction, how: 'end', of: 'now' });
    await expect.poll(receiver.ended).toBe('FIN');
    sender.socket.write('lost');
    receiver.socket.write('goes on');
    await expect.poll(() => after(sender)).toBe('goes on');
    expect([after(receiver), sender.ended()]).toEqual(['', undefined]);
    await pair();
    await release();
    await expect.poll(sender.ended).toBe('ECONNRESET');
  });

  it('refuses connections, and takes them at the same port again', async () => {
    const { proxy, pair, client } = await scene();
    const [near, far] = await pair();
    const releases = [await proxy.refuse(), await proxy.refuse()];
    await expect(client()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    near.socket.write('goes on');
    await expect.poll(() => after(far)).toBe('goes on');
    await releases[0]?.();
    await expect(client()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await releases[1]?.();
    await pair();
  });

  it('connects what comes next to another port, and resets a client whose server is away', async () => {
    const [one, other] = [await scene(), await scene()];
    const [near, far] = await one.pair();
    one.proxy.retarget(other.serverPort);
    const moved = await one.client();
    moved.socket.write('moved');
    await expect.poll(() => other.accepted[0]?.got().toString()).toBe('moved');
    near.socket.write('stays');
    await expect.poll(() => after(far)).toBe('stays');
    // A port that nobody listens at: that of a proxy which refuses.
    await other.proxy.refuse();
    one.proxy.retarget(other.proxy.port);
    const away = await one.client();
    await expect.poll(away.ended).toBe('ECONNRESET');
  });

  it('cuts right behind a message, of either direction, counted from its arming', async () => {
    const { proxy, pair } = await scene();
    for (const message of [1, 2, 3, 4]) {
      const [near, far] = await pair();
      // Answers each request: the odd messages are requests, the even ones answers.
      far.socket.on('data', (chunk: Buffer) => far.socket.write(String(chunk).toUpperCase()));
      near.socket.on('data', () => near.socket.write('b'));
      proxy.arm();
      proxy.cutBehindMessage(message);
      near.socket.write('a');
      await expect.poll(() => [near.ended() !== undefined, far.ended() !== undefined]).toEqual([true, true]);
      expect([after(far), after(near)]).toEqual(['ab'.slice(0, Math.ceil(message / 2)), 'AB'.slice(0, message / 2)]);
      expect(proxy.messages).toBe(message);
    }
    expect(proxy.counts.cuts).toBe(4);
  });

  it('ends every fault by calm', async () => {
    const { proxy, pair, client } = await scene();
    const [near] = await pair();
    proxy.cutBehindMessage(proxy.messages + 3);
    void proxy.delay(600_000);
    void proxy.drip({ forMs: 600_000, everyMs: 60_000 });
    void proxy.cut({ direction: 'up', afterBytes: 7 });
    void proxy.halfOpen({ direction: 'down', how: 'end', of: 'next' });
    void proxy.halfOpen({ direction: 'down', how: 'deaf' });
    void proxy.blackHole();
    near.socket.write('lost');
    await proxy.refuse();
    await expect(client()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await proxy.calm();
    await pair();
    const [again, far] = await pair();
    again.socket.write('a message of more than seven bytes');
    await expect.poll(() => after(far)).toBe('a message of more than seven bytes');
    expect(proxy.counts.cuts).toBe(0);
  });

  it('ends where it resets a connection in the moment in which it ended one of its directions', async () => {
    const { proxy, pair } = await scene();
    await pair();
    proxy.halfOpen({ direction: 'down', how: 'end' });
    proxy.resetAll();
    await proxy[Symbol.asyncDispose]();
    expect(proxy.counts.open).toBe(0);
  });

  it('outlives clients and servers that are reset while it writes', async () => {
    const { proxy, pair } = await scene();
    for (let round = 0; round < 20; round += 1) {
      const [sender, receiver] = roles(await pair(), round % 2 === 0 ? 'up' : 'down');
      sender.socket.write(randomBytes(500_000));
      receiver.socket.resetAndDestroy();
      await expect.poll(sender.ended).toBeDefined();
    }
    await expect.poll(() => proxy.counts.open).toBe(0);
  });
});

/** Some turns of this process and its kernel: what was written before them has been read. */
async function pingBeside(): Promise<void> {
  const { pair } = await scene();
  for (let trip = 0; trip < 4; trip += 1) await pair();
}
