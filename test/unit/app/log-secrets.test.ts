/** The log against secrets that are read from files or fetched (G10). */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { knownSecrets } from '../../../src/app/service/service-settings.ts';
import { createLog } from '../../../src/app/log.ts';
import { startScriptedServer } from '../../support/scripted-server.ts';
import { serviceAt } from '../../support/service-under-test.ts';

it('G10: the log shows no secret that came from a file or from the token endpoint', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-secrets-'));
  const secretFile = path.join(folder, 'secret');
  await writeFile(secretFile, 'client-s3cret\n');
  await using endpoint = await startScriptedServer([{ body: { access_token: 'fetched-t0ken' } }]);
  await using server = await startScriptedServer([{ body: [] }]);
  const token = {
    kind: 'client-credentials',
    tokenUrl: `${endpoint.baseUrl}/token`,
    clientId: 'wellsync',
    clientSecret: { kind: 'file', path: secretFile },
  } as const;
  await using client = serviceAt(server.baseUrl, { token }, { secrets: knownSecrets });
  await client.service.fetchDailyProductionPage({ uwi: 'W' });
  expect(server.requests[0]?.headers.authorization).toBe('Bearer fetched-t0ken');

  let text = '';
  const stream = new Writable({ write: (chunk: Buffer, _encoding, done) => ((text += chunk.toString()), done()) });
  const log = createLog({ level: 'info', config: loadConfig({ environment: {} }), stream });
  log.warn({ said: 'refused fetched-t0ken of client-s3cret' }, 'fetched-t0ken');
  expect(text).toContain('refused [hidden] of [hidden]');
  expect(text).not.toMatch(/s3cret|t0ken/);
  await rm(folder, { recursive: true });
});
