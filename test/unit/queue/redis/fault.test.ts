import { describe, expect, it } from 'vitest';
import { exitCodeOfError } from '../../../../src/core/run/exit-code.ts';
import { redisOutage } from '../../../../src/queue/redis/fault.ts';

describe('an error of a call to Redis', () => {
  it.each([
    ["OOM command not allowed when used memory > 'maxmemory'.", 'it has no memory left'],
    ['ERR Error running script: @user_script: 3: -OOM command not allowed', 'it has no memory left'],
    ["READONLY You can't write against a read only replica.", 'it is a read-only replica'],
    ['MISCONF Redis is configured to save RDB snapshots, but …', 'it cannot save its data to disk'],
    ['LOADING Redis is loading the dataset in memory', 'it is loading its data'],
    ['CLUSTERDOWN The cluster is down', 'it has no primary'],
    ['MASTERDOWN Link with MASTER is down', 'it has no primary'],
    ['NOAUTH Authentication required.', 'it does not let us in: it asks for a password'],
    ['EXECABORT Transaction discarded because of previous errors.', 'it refused a transaction'],
    ['connect ECONNREFUSED 127.0.0.1:6379', 'it does not answer'],
    ['Connection is closed.', 'it does not answer'],
    ['Command timed out', 'it does not answer'],
  ])('%s is a state that passes, told in words, with exit code 5', (message, state) => {
    const outage = redisOutage(new Error(message));
    expect(outage).toMatchObject({ part: 'redis', message: `Redis cannot be used: ${state}` });
    expect(outage?.hint).toBeTruthy();
    expect(exitCodeOfError(outage)).toBe(5);
  });

  it('a bug stays a bug', () => {
    expect(redisOutage(new TypeError('x is not a function'))).toBeUndefined();
    expect(redisOutage(new Error('ERR wrong number of arguments'))).toBeUndefined();
  });
});
