/** The service: its profile, its limits, the hold that it asked for, and the release of that hold. */
import { z } from 'zod';
import { releaseService } from '../../app/requests/service-hold.ts';
import { serviceViewOf } from '../../app/service-view.ts';
import { holdDocument } from '../../app/views/run-document.ts';
import { profileDocument } from '../../app/views/profile.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { holdShown, problemDocument } from './documents.ts';

export function addServiceRoutes(server: ApiServer, { app, reader }: ConsoleContext): void {
  server.route({
    method: 'GET',
    url: '/api/v1/service',
    config: { access: 'read' },
    schema: {
      summary: 'What is known of the service without asking it',
      response: {
        200: z.object({
          service: z.string().nullable(),
          hold: holdShown,
          profile: z.unknown().describe('As `wellsync probe --json` gives it; null before the first probe'),
        }),
      },
    },
    handler: async () => {
      const { value: owner } = await reader.read('service', () => app.ledger.ownership.read());
      const { hold, profile } = await serviceViewOf(app, reader);
      return {
        service: owner.service ?? null,
        hold: holdDocument(hold),
        profile: profile === undefined ? null : profileDocument(profile),
      };
    },
  });
  server.route({
    method: 'POST',
    url: '/api/v1/service/release',
    config: { access: 'operate' },
    schema: {
      summary: 'Lifts the hold that the service asked for: requests are sent at once',
      response: {
        200: z.object({ released: holdShown.describe('The hold that was lifted; null if there was none') }),
        503: problemDocument,
      },
    },
    handler: async () => ({ released: holdDocument(await releaseService(app, { dryRun: false })) }),
  });
}
