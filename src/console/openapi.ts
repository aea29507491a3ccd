/** The description of the HTTP API, made from the schemas of its routes. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
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

/** The files that pages load: styles, scripts, and the plotting library. Nothing comes from elsewhere. */
const types = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const;

const own = [
  'console.css',
  'console.js',
  'coverage.js',
  'start.js',
  'well.js',
  'well-plots.js',
  'well-values.js',
  'day-states.js',
  'icon.svg',
] as const;
const ofPlots = ['uPlot.esm.js', 'uPlot.min.css'] as const;

interface StaticFile {
  readonly name: string;
  readonly url: URL | string;
}

function files(): readonly StaticFile[] {
  // Beside this module in the sources, and beside the bundle (scripts/setup/bundle.mjs).
  const ours = own.map((name) => ({ name, url: new URL(`static/${name}`, import.meta.url) }));
  const resolve = createRequire(import.meta.url).resolve;
  return [...ours, ...ofPlots.map((name) => ({ name, url: resolve(`uplot/dist/${name}`) }))];
}

/** The files are read once: they are small, and change with the program alone. */
export async function addStaticFiles(server: ApiServer): Promise<void> {
  for (const { name, url } of files()) {
    const bytes = await readFile(url);
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const type = types[name.split('.').at(-1) as keyof typeof types];
    server.route({
      method: 'GET',
      url: `/static/${name}`,
      config: { access: 'anybody' },
      schema: { hide: true },
      handler: async ({ headers }, reply) => {
        void reply.header('cache-control', 'no-cache').header('etag', etag);
        if (headers['if-none-match'] === etag) return reply.code(304).send();
        return reply.type(type).send(bytes);
      },
    });
  }
}
