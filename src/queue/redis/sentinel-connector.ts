/** The connections to sentinels by which ioredis notices a failover: it prints their faults, where nobody listens. */
import { type Redis, type SentinelConnectionOptions, SentinelConnector } from 'ioredis';

type Connect = (...args: readonly unknown[]) => Redis;

export class QuietSentinelConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
    const own = this as unknown as { connectToSentinel: Connect };
    const connect = own.connectToSentinel.bind(this);
    // A sentinel that is down is asked again, and the others are asked meanwhile.
    own.connectToSentinel = (...args) => connect(...args).on('error', () => undefined);
  }
}
