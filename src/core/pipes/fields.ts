/**
 * The ten fields of a network pipe (docs/interface.md section 2.3), and how wellsync reads each (docs/design.md section
 * 3).
 */

/** In the documented order, which is also the order in a request body. */
export const pipeFields = [
  'sourceNetworkId',
  'sourceId',
  'date',
  'upstreamSourceId',
  'downstreamSourceId',
  'enabled',
  'length',
  'trueVerticalDepth',
  'innerDiameter',
  'roughness',
] as const;
export type PipeField = (typeof pipeFields)[number];

/** Fields with one number for each segment. */
export const listFields = ['length', 'trueVerticalDepth', 'innerDiameter', 'roughness'] as const;
export type ListField = (typeof listFields)[number];

/** Bounds of the numbers of a list field. An absent bound does not apply. */
export interface NumberLimit {
  readonly min?: number;
  readonly max?: number;
  /** Exclusive minimum. */
  readonly above?: number;
}

export type PipeLimits = Readonly<Partial<Record<ListField, NumberLimit>>>;

export const defaultPipeLimits: PipeLimits = { length: { min: 0 }, innerDiameter: { above: 0 } };
