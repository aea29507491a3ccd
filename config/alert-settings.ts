/** The settings of alerts (docs/design.md section 11). */
import { z } from 'zod';

const text = z.string().trim().min(1);

/** May hold a capability in its path or query: it is kept out of logs (G10). */
const webhookUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' });

export const alertSettings = z
  .strictObject({
    url: webhookUrl.optional(),
    form: z.enum(['json', 'slack']).default('json'),
    secretFile: text.optional(),
    timeoutMs: z.number().int().positive().max(60_000).default(10_000),
    maxStaleWells: z.number().int().nonnegative().default(20),
    maxHoldMs: z.number().int().positive().max(86_400_000).default(900_000),
    heartbeatUrl: webhookUrl.optional(),
    heartbeatJobs: z.array(text).default(['export daily-production']),
  })
  .prefault({});
