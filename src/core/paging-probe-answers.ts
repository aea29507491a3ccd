/** Owns the words of a probe: what is asked, what is answered, and what is found. */
import type { ServiceProfile, Unknown } from './service-profile.ts';

export interface ProbeRow {
  readonly key: string;
  /** Undefined where its date cannot be read. */
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

/** A value of the profile with what showed it, or why nothing did. */
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

export function wordsOf(answer: ProbeAnswer): string {
  if (answer.kind === 'not-found') return 'answered 404';
  if (answer.kind === 'refused') return 'refused';
  return answer.rows.length === 0 ? 'empty' : counted(answer.rows.length);
}

export function counted(rows: number): string {
  return rows === 1 ? 'one row' : `${rows} rows`;
}

export function finding<Value>(value: Value | Unknown, because: string): Finding<Value> {
  return { value, because };
}

export function unknown(because: string): Finding<never> {
  return { value: 'unknown', because };
}
