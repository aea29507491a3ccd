/** Which wells a cleanup takes for producing ones, and by which uwis it looks them up. */
import { describe, expect, test } from 'vitest';
import { findingOf, reasonToKeep, uwisOfWell, type RecentProduction } from '../../../../src/core/cleanup/target.ts';

const idle: RecentProduction = { producedOn: null, isRead: true, isQuarantined: false };
const producing: RecentProduction = { ...idle, producedOn: '2026-01-05' };
const attended = { days: 30, isUnattended: false };
const unattended = { days: 30, isUnattended: true };

describe('a well is kept', () => {
  test.each([
    ['that produced', [producing], /produced on 2026-01-05, within the last 30 days/],
    ['that produced under one of two uwis', [idle, producing], /produced on 2026-01-05/],
    ['that was not read', [{ ...idle, isRead: false }], /was not read, so the well counts as producing/],
    ['of which one uwi was not read', [idle, { ...idle, isRead: false }], /was not read/],
    ['with quarantined records', [{ ...idle, isQuarantined: true }], /in quarantine, so the well counts as producing/],
  ])('%s', (_, known, words) => {
    const uwis = known.map((_each, place) => `W${place}`);
    const finding = findingOf(uwis, new Map(known.map((each, place) => [`W${place}`, each])));
    expect(reasonToKeep(finding, attended)).toMatch(words);
    expect(reasonToKeep(finding, unattended)).toMatch(words);
  });

  test('that the warehouse does not know, where nobody reads the warning', () => {
    const finding = findingOf(['W'], new Map());
    expect(reasonToKeep(finding, attended)).toBeUndefined();
    expect(reasonToKeep(finding, unattended)).toMatch(/nobody can say whether the well produces/);
  });

  test('not where it was read and did not produce', () => {
    const finding = findingOf(['W'], new Map([['W', idle]]));
    expect(reasonToKeep(finding, unattended)).toBeUndefined();
  });

  test('that goes by a second uwi which the warehouse does not know, as one that was not read', () => {
    const finding = findingOf(['W', 'not known'], new Map([['W', idle]]));
    expect(reasonToKeep(finding, attended)).toMatch(/was not read, so the well counts as producing/);
  });
});

describe('the uwi of a well', () => {
  const body = (value: unknown) => ({ contentType: 'application/json', body: JSON.stringify(value) });

  test.each([
    ['is its id without a field', undefined, [body({ uwi: 'U' })], ['S']],
    ['is in the field of its body', 'names.uwi', [body({ names: { uwi: 'U' } })], ['U']],
    [
      'is each of two that its bodies name',
      'uwi',
      [body({ uwi: 'U' }), body({ uwi: 'V' }), body({ uwi: 'U' })],
      ['U', 'V'],
    ],
    ['is its id where the body does not name one', 'uwi', [body({ other: 1 }), body([])], ['S']],
    ['is its id where the body is no JSON', 'uwi', [{ contentType: 'text/plain', body: 'uwi: U' }], ['S']],
    ['may be a number', 'uwi', [body({ uwi: 42 })], ['42']],
  ])('%s', (_, field, bodies, expected) => {
    expect(uwisOfWell('S', bodies, field)).toEqual(expected);
  });
});
