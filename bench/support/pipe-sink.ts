/** Accepts every request at once: the service of the benchmark of the push. */
import { createServer } from 'node:http';
import { serve } from './service-process.ts';

serve(
  createServer((request, response) => {
    request.resume().once('end', () => response.end());
  }),
  () => undefined,
);
