/** The wells of the map as a table, and what of them is shown. */
import type { JSX } from 'preact';
import { z } from 'zod';
import {
  type choiceCounts,
  type MapChoice,
  mapChoices,
  type MapOrder,
  mapOrders,
  type MapWell,
} from '../../app/wells/coverage.ts';
import { figure } from '../../core/base/text.ts';
import { Choice, Field } from './forms.tsx';
import { Empty, Table, WellLink } from './parts.tsx';

export const mapQuery = z.object({
  show: z.enum(mapChoices).default('all'),
  sort: z.enum(mapOrders).default('name'),
  name: z.string().max(1_000).default(''),
});
export const pageQuery = mapQuery.extend({
  as: z.enum(['map', 'table']).default('map'),
  page: z.coerce.number().int().min(1).default(1),
});
export type MapPageQuery = z.output<typeof pageQuery>;

/** What differs from the first look, with changes: `?show=held&page=2`; the empty text for the first look. */
export function queryText(query: MapPageQuery, changes: Partial<MapPageQuery>): string {
  const { show, sort, name, as, page } = { ...query, page: 1, ...changes };
  const members = Object.entries({
    show: show === 'all' ? '' : show,
    sort: sort === 'name' ? '' : sort,
    name,
    as: as === 'map' ? '' : as,
    page: page === 1 ? '' : String(page),
  }).filter(([, value]) => value !== '');
  return members.length === 0 ? '' : `?${new URLSearchParams(members).toString()}`;
}

const choiceWords: Readonly<Record<MapChoice, string>> = {
  all: 'all wells',
  attention: 'needs a look',
  silent: 'silent',
  held: 'with held rows',
  restated: 'restated',
};

const orderWords: Readonly<Record<MapOrder, string>> = {
  name: 'name',
  missing: 'most days without a row',
  silent: 'silent longest',
};

export function MapFilter(props: {
  readonly counts: ReturnType<typeof choiceCounts>;
  readonly query: MapPageQuery;
}): JSX.Element {
  const { counts, query } = props;
  const choices = Object.entries(choiceWords) as [MapChoice, string][];
  return (
    <form method="get" action="/coverage" class="row" id="map-filter">
      <Field label="Part of the name">
        <input name="name" type="search" value={query.name} autocomplete="off" />
      </Field>
      <Choice
        label="Wells"
        name="show"
        value={query.show}
        choices={choices.map(([name, words]) => [name, `${words} (${figure(counts[name])})`])}
      />
      <Choice label="By" name="sort" value={query.sort} choices={Object.entries(orderWords)} />
      {query.as === 'table' ? <input type="hidden" name="as" value="table" /> : null}
      <button type="submit">Show</button>
      {query.as === 'table' ? (
        <a class="button" href={`/coverage${queryText(query, { as: 'map' })}`}>
          As a map
        </a>
      ) : (
        <a class="button" href={`/coverage${queryText(query, { as: 'table' })}`}>
          As a table
        </a>
      )}
    </form>
  );
}

const pageWells = 100;

export function WellTable({ wells, query }: { readonly wells: readonly MapWell[]; readonly query: MapPageQuery }) {
  if (wells.length === 0) {
    return (
      <Empty title="No well is like that">
        <a href="/coverage">All wells</a>
      </Empty>
    );
  }
  const pages = Math.ceil(wells.length / pageWells);
  const page = Math.min(query.page, pages);
  const from = (page - 1) * pageWells;
  return (
    <>
      <Table
        caption="Wells"
        columns={[
          { title: 'Well' },
          { title: 'Last day' },
          { title: 'Silent days', isNumber: true },
          { title: 'Present', isNumber: true },
          { title: 'Missing', isNumber: true },
          { title: 'Never read', isNumber: true },
          { title: 'Quarantined', isNumber: true },
          { title: 'Also' },
        ]}
        rows={wells.slice(from, from + pageWells).map((well) => ({
          key: well.uwi,
          cells: [
            <WellLink uwi={well.uwi} />,
            well.lastDay ?? 'none',
            ...[well.silentDays, well.present, well.missing, well.neverRead, well.quarantined].map((days) =>
              days === 0 ? '' : figure(days),
            ),
            [
              ...(well.isPartlyRead ? ['read in part'] : []),
              ...(well.isHeld ? ['held rows'] : []),
              ...(well.isRestated ? ['restated'] : []),
            ].join(', '),
          ],
        }))}
      />
      {pages === 1 ? null : (
        <p class="actions">
          {page > 1 ? (
            <a class="button" href={`/coverage${queryText(query, { page: page - 1 })}`}>
              Before
            </a>
          ) : null}
          <span class="muted">
            {figure(from + 1)} to {figure(Math.min(from + pageWells, wells.length))} of {figure(wells.length)}
          </span>
          {page < pages ? (
            <a class="button" href={`/coverage${queryText(query, { page: page + 1 })}`}>
              Next
            </a>
          ) : null}
        </p>
      )}
    </>
  );
}
