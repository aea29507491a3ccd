/** Search: wells, runs, pushed files and plans by any part of a name. */
import { z } from 'zod';
import { foundKinds, type Search } from '../../app/runs/search.ts';
import type { ApiServer } from '../context.ts';
import { problems } from './documents.ts';

export const searchText = z
  .string()
  .max(200)
  .describe('Any part of a name, in any case; also without what stands between its letters and digits');

export function addSearchRoute(server: ApiServer, search: Search): void {
  server.route({
    method: 'GET',
    url: '/api/v1/search',
    config: { access: 'read' },
    schema: {
      summary: 'Wells, runs, pushed files and plans by any part of a name, the nearest first',
      querystring: z.strictObject({ text: searchText, limit: z.coerce.number().int().min(1).max(100).default(20) }),
      response: {
        200: z.object({
          found: z
            .array(
              z.object({
                kind: z.enum(foundKinds),
                id: z.string().describe('A uwi, a plan, or a run: also of a file, which it pushed'),
                name: z.string(),
                remark: z.string().nullable(),
              }),
            )
            .readonly(),
        }),
        ...problems(400),
      },
    },
    handler: async ({ query: { text, limit } }) => ({ found: (await search.find(text, limit)).value }),
  });
}
