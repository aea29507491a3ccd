import { newToken } from '../../app/access/access.ts';
import { hashOfToken } from '../../app/access/sessions.ts';
import { UsageError } from '../../core/base/errors.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Role } from '../../core/run/role.ts';
import { isDay, isExpired } from '../../core/run/token-expiry.ts';
import type { Invocation } from '../commands/command-line.ts';

export interface TokenOptions {
  readonly role: Role;
  /** YYYY-MM-DD, its last day. */
  readonly expires?: string;
}

/** Shows the token this once: nothing keeps it. */
export async function createToken({ options, args, output }: Invocation<TokenOptions>): Promise<ExitCode> {
  const [name = ''] = args;
  if (!/^[\w.@-]{1,80}$/.test(name)) {
    throw new UsageError(`${JSON.stringify(name)} is no name of a token`, {
      hint: 'It may hold up to 80 letters, digits, ., @, - and _: it stands in runs, plans and the audit.',
    });
  }
  const { role, expires } = options;
  if (expires !== undefined && !isDay(expires)) {
    throw new UsageError(`--expires ${JSON.stringify(expires)} is no day`, {
      hint: 'Give the last day of the token, such as 2027-01-31: it ends with that day, in UTC.',
    });
  }
  if (isExpired({ expires }, Date.now())) {
    throw new UsageError(`--expires ${expires ?? ''} is over: the token would let nobody in`, {
      hint: 'Give a day that is to come: the token ends with it, in UTC.',
    });
  }
  const token = newToken();
  const entry = { name, role, sha256: hashOfToken(token), ...(expires === undefined ? {} : { expires }) };
  if (output.json) {
    await output.document({ token, ...entry });
    return exitCodes.done;
  }
  const until = expires === undefined ? '' : ` until the end of ${expires} (UTC)`;
  const line = Object.entries({ ...entry, name: JSON.stringify(name) }).map(([key, value]) => `${key}: ${value}`);
  await output.print(
    `Token of ${name}, which may ${role}${until}. It is shown this once:\n\n  ${token}\n\n` +
      `Add its hash to the configuration; a server takes it within 5 s:\n\n` +
      `http:\n  tokens:\n    - { ${line.join(', ')} }`,
  );
  return exitCodes.done;
}
