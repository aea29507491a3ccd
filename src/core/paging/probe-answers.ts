import { counted } from '../base/text.ts';
import type { ServiceProfile, Unknown } from './service-profile.ts';

/** Types of a probe: its requests, the answers, and the findings. */
export interface ProbeRow {
  readonly key: string;
  /** Instant of the row; undefined when its date cannot be read. */
  readonly instantMs: number | undefined;
}

export interface ProbeAsk {
  readonly page?: number;
  readonly limit?: number;
  readonly startMs?: number;
  readonly endMs?: number;
}

export type ProbeAnswer =
  | { readonly kind: 'page'; readonly rows: readonly ProbeRow[] }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'refused' };

export type Probing<Outcome> = Generator<ProbeAsk, Outcome, ProbeAnswer>;

/** A value of the profile with its evidence, or the reason why it is unknown. */
export interface Finding<Value> {
  readonly value: Value | Unknown;
  readonly because: string;
}

export type ProbeFindings = {
  readonly [Name in Exclude<keyof ServiceProfile, 'baseUrl' | 'probedAtMs' | 'uwi' | 'evidence'>]: Finding<
    Exclude<ServiceProfile[Name], Unknown>
  >;
};

export function rowsOf(answer: ProbeAnswer): readonly ProbeRow[] {
  return answer.kind === 'page' ? answer.rows : [];
}

export function describeAnswer(answer: ProbeAnswer): string {
  if (answer.kind === 'not-found') return 'answered 404';
  if (answer.kind === 'refused') return 'refused';
  return answer.rows.length === 0 ? 'empty' : counted(answer.rows.length, 'row');
}

export function finding<Value>(value: Value | Unknown, because: string): Finding<Value> {
  return { value, because };
}

export function unknown(because: string): Finding<never> {
  return { value: 'unknown', because };
}
