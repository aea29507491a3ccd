/** A service, an installation and its server, worked as `wellsync serve` does it. */
import type { HttpSettings } from '../../config/http-settings.ts';
import type { TestingServer, TestingServerSetup } from '../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from './cli.ts';
import { type ConsoleUnderTest, startConsoleOf, tokensOfRoles } from './console.ts';
import { startWithTenDays } from './testing-server-requests.ts';

export interface ServedInstallation extends AsyncDisposable {
  readonly service: TestingServer;
  readonly home: CliHome;
  readonly server: ConsoleUnderTest;
}

/** With a token of each role; `config` is the text of the configuration file. */
export async function serveInstallation(
  options: {
    readonly setup?: TestingServerSetup;
    readonly http?: Partial<HttpSettings>;
    readonly config?: string;
    readonly works?: boolean;
    readonly beatMs?: number;
  } = {},
): Promise<ServedInstallation> {
  const { setup, http = {}, config, works = true, beatMs } = options;
  const service = await startWithTenDays(setup);
  const home = await cliHome(service.url, config === undefined ? {} : { config });
  const server = await startConsoleOf(home, {
    works,
    ...(beatMs === undefined ? {} : { beatMs }),
    http: { tokens: tokensOfRoles, requestsPerMinute: 100_000, ...http },
  });
  return {
    service,
    home,
    server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
      await service.close();
    },
  };
}
