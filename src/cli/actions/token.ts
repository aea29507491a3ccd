import type { Role } from '../../core/access/role.ts';
import { UsageError } from '../../core/base/errors.ts';
import { exitCodes, type ExitCode } from '../../core/run/exit-code.ts';
import { hashOfToken, newToken } from '../../app/access/token.ts';
import type { Invocation } from '../commands/command-line.ts';

export interface TokenOptions {
  readonly role: Role;
}

/** Shows the token this once: nothing keeps it. */
export async function createToken({ options, args, output }: Invocation<TokenOptions>): Promise<ExitCode> {
  const [name = ''] = args;
  if (!/^[\w.@-]{1,80}$/.test(name)) {
    throw new UsageError(`${JSON.stringify(name)} is no name of a token`, {
      hint: 'It may hold up to 80 letters, digits, ., @, - and _: it stands in runs, plans and the audit.',
    });
  }
  const token = newToken();
  const entry = { name, role: options.role, sha256: hashOfToken(token) };
  if (output.json) {
    await output.document({ token, ...entry });
    return exitCodes.done;
  }
  const { role, sha256 } = entry;
  await output.print(
    `Token of ${name}, which may ${role}. It is shown this once:\n\n  ${token}\n\n` +
      `Add its hash to the configuration; a server takes it within 5 s:\n\n` +
      `http:\n  tokens:\n    - { name: ${JSON.stringify(name)}, role: ${role}, sha256: ${sha256} }`,
  );
  return exitCodes.done;
}
