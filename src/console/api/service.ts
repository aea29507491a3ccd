/** The service: its profile, what holds requests to it back, and the release of that. */
import { z } from 'zod';
import { releaseService, serviceViewOf } from '../../app/service/service-requests.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { instant, problems } from './documents.ts';

export const holdShown = z
  .object({ until: instant, askedUntil: instant, isTooLong: z.boolean() })
  .nullable()
  .describe('Until when the service asked all to wait');

export const outageShown = z
  .object({
    since: instant,
    fault: z.string(),
    isDue: z.boolean().describe('Its pause is over: the next request asks it, and it may be up'),
  })
  .nullable()
  .describe('Since when the service is down, and all requests wait');

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
          outage: outageShown,
          profile: z.unknown().describe('As `wellsync probe --json` gives it; null before the first probe'),
        }),
      },
    },
    handler: async () => {
      const { value: owner } = await reader.read(['service'], () => app.ledger.ownership.read());
      const { hold, outage, profile } = await serviceViewOf(app, reader);
      return { service: owner.service ?? null, hold, outage, profile };
    },
  });
  server.route({
    method: 'POST',
    url: '/api/v1/service/release',
    config: { access: 'operate' },
    schema: {
      summary: 'Lifts what holds requests back: they are sent at once',
      response: {
        200: z.object({
          hold: holdShown.describe('The one that was lifted; null if there was none'),
          outage: outageShown.describe('The one that requests no longer wait for; null if there was none'),
        }),
        ...problems(503),
      },
    },
    handler: () => releaseService(app, { dryRun: false }),
  });
}
