/** Owns the ten fields of a network pipe (INTERFACE.md section 2.3) and how wellsync reads each (DESIGN.md section 3). */

/** In the documented order, which is the order in a request body as well. */
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

/** The fields that hold one number for each segment. */
export const listFields = ['length', 'trueVerticalDepth', 'innerDiameter', 'roughness'] as const;
export type ListField = (typeof listFields)[number];

/** Bounds of the numbers of a list field; what is left out is not bounded. */
export interface NumberLimit {
  readonly min?: number;
  readonly max?: number;
  /** Larger than this, not equal. */
  readonly above?: number;
}

export type PipeLimits = Readonly<Partial<Record<ListField, NumberLimit>>>;

export const defaultPipeLimits: PipeLimits = { length: { min: 0 }, innerDiameter: { above: 0 } };
