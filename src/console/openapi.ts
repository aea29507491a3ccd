/** The description of the HTTP API, made from the schemas of its routes. */
import swagger from '@fastify/swagger';
import { jsonSchemaTransform } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { versionOfPackage } from '../app/version.ts';
import type { ApiServer } from './context.ts';

/** To be called before the routes are added. */
export async function addOpenApi(server: ApiServer): Promise<void> {
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'wellsync',
        version: versionOfPackage(),
        description: 'Runs, plans, coverage and production of a wellsync installation.',
      },
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
      security: [{ token: [] }],
    },
    transform: jsonSchemaTransform,
  });
  server.route({
    method: 'GET',
    url: '/api/v1/openapi.json',
    config: { access: 'read' },
    schema: {
      summary: 'This description',
      response: { 200: z.unknown() },
    },
    handler: () => server.swagger(),
  });
}
