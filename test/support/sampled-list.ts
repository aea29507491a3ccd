/** A list of records that the service does not have, with a field of every kind, and one that may be missing of each. */
import type { KnownList, RecordList, RecordOf } from '../../src/core/definitions/record-list.ts';

const sampled = {
  name: 'samples',
  title: 'samples',
  table: 'sample',
  targets: {
    kind: 'sampled-well',
    all: 'wells',
    one: 'well',
    many: 'wells',
    column: 'well',
    file: 'wells',
    setting: 'sampledWells',
  },
  fields: {
    id: 'uuid',
    name: 'string',
    depthM: 'double',
    depthOfTop: 'double?',
    zones: 'int32',
    zonesOpen: 'int32?',
    isOpen: 'boolean',
    wasOpen: 'boolean?',
    parentId: 'uuid?',
    remark: 'string?',
  },
  key: 'id',
  alias: 'name',
} as const satisfies RecordList;

export type SampledList = typeof sampled;
export type SampledRecord = RecordOf<SampledList>;

/** As an entry of `recordLists` is: no list of a test is one. */
export const sampledList = sampled as RecordList as KnownList;

export const fullSample: SampledRecord = {
  id: '00000000-0000-4000-8000-000000000001',
  name: 'C1',
  depthM: 0.1 + 0.2,
  depthOfTop: -1.5e-300,
  zones: 2_147_483_647,
  zonesOpen: -3,
  isOpen: true,
  wasOpen: false,
  parentId: '00000000-0000-4000-8000-000000000002',
  remark: 'a "b"',
};

/** Of what may be missing, nothing. */
export const bareSample: SampledRecord = {
  id: '00000000-0000-4000-8000-000000000003',
  name: 'C2',
  depthM: 1e21,
  depthOfTop: null,
  zones: 0,
  zonesOpen: null,
  isOpen: false,
  wasOpen: null,
  parentId: null,
  remark: null,
};
