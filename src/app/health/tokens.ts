/** Tokens of the HTTP API that have ended, or will soon: whoever uses one needs another in time. */
import type { HttpSettings } from '../../../config/http-settings.ts';
import { fewDaysLeft } from '../../core/access/token-expiry.ts';
import { counted } from '../../core/base/text.ts';
import { type Finding, warning } from './finding.ts';

/** One for each token that has expired, or expires within 14 days. */
export function tokenFindings({ tokens }: Pick<HttpSettings, 'tokens'>, nowMs: number): readonly Finding[] {
  return tokens.flatMap((token) => {
    const days = fewDaysLeft(token, nowMs);
    if (days === undefined) return [];
    const { name, role, expires = '' } = token;
    const message =
      days === 0
        ? `the token ${name} of http.tokens expired with ${expires} (UTC): it lets nobody in`
        : `the token ${name} of http.tokens expires with ${expires} (UTC), ${days === 1 ? 'today' : `in ${counted(days - 1, 'day')}`}`;
    return [warning('tokens', message, { action: { kind: 'replace-token', name, role } })];
  });
}
