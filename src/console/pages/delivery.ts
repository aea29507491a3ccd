/** How old what a page shows is, and what keeps it from being renewed: for its frame and its forms. */
import { createContext } from 'preact';
import type { ReadsOfPage } from '../../app/warehouse/last-known.ts';
import { awayText } from '../problem.ts';

export interface Delivered {
  /** When its data were read. */
  readonly asOfMs: number;
  /** Why it is not of now, and what to do about it: the warehouse is away. Empty for a page of now. */
  readonly away: string;
}

export const Delivery = createContext<Delivered>({ asOfMs: 0, away: '' });

export function deliveredNow(): Delivered {
  return { asOfMs: Date.now(), away: '' };
}

export function deliveredOf({ asOfMs, fault }: ReadsOfPage): Delivered {
  return { asOfMs, away: fault === undefined ? '' : awayText(fault) };
}
