/** What a search found. A text that is the name of one thing leads to it. */
import type { JSX } from 'preact';
import { z } from 'zod';
import { type Found, foundKinds, nearestWells, type Search } from '../../app/runs/search.ts';
import { counted } from '../../core/base/text.ts';
import { searchText } from '../api/search.ts';
import { type Frame, Page } from './frame.tsx';
import { Empty, Name, NearWells, Panel } from './parts.tsx';
import type { Pages } from './routes.tsx';

const mostFound = 100;

export function addSearchPage(pages: Pages, search: Search): void {
  const { app } = pages.context;
  pages.add({
    url: '/search',
    query: z.object({ text: searchText.default('') }),
    page: async ({ frame, reader }, { query: { text } }) => {
      const { value: found } = reader.counted(await search.find(text, mostFound));
      const exact = found.filter(({ name }) => name.toLowerCase() === text.trim().toLowerCase());
      const [only] = exact;
      if (exact.length === 1 && only !== undefined) return { to: pathOf(only) };
      const sought = text.trim();
      const isNear = found.length === 0 && sought !== '';
      const near = isNear ? (await reader.read(['near', sought], () => nearestWells(app, sought))).value : [];
      return <SearchPage frame={frame} text={text} found={found} near={near} />;
    },
  });
}

const paths = { well: '/wells', run: '/runs', file: '/runs', plan: '/cleanup' } as const;

function pathOf({ kind, id }: Pick<Found, 'kind' | 'id'>): string {
  return `${paths[kind]}/${encodeURIComponent(id)}`;
}

const titles = { well: 'Wells', run: 'Runs', file: 'Pushed files', plan: 'Plans of cleanups' } as const;

interface SearchProps {
  readonly frame: Frame;
  readonly text: string;
  readonly found: readonly Found[];
  readonly near: readonly string[];
}

function SearchPage({ frame, text, found, near }: SearchProps): JSX.Element {
  return (
    <Page {...frame} title={text === '' ? 'Search' : `${text}: search`} section={undefined} sought={text}>
      <h1>{text === '' ? 'Search' : <FoundText text={text} found={found} />}</h1>
      {found.length === 0 ? (
        <section class="panel">
          <Empty title={text === '' ? 'Type a part of a name above' : 'Nothing has this in its name'}>
            <p>Wells, runs, pushed files and plans are found by any part of their names, in any case.</p>
            {near.length === 0 ? null : <NearWells uwis={near} />}
          </Empty>
        </section>
      ) : null}
      {foundKinds.map((kind) => {
        const ofKind = found.filter((each) => each.kind === kind);
        return ofKind.length === 0 ? null : (
          <Panel
            key={kind}
            title={titles[kind]}
            aside={<span class="small muted">{counted(ofKind.length, 'name')}</span>}
          >
            <ul class="found">
              {ofKind.map((each) => (
                <li key={`${each.id} ${each.name}`}>
                  <a href={pathOf(each)}>
                    <Name>{each.name}</Name>
                  </a>{' '}
                  {each.remark === null ? null : (
                    <span class="muted small">
                      <Name>{each.remark}</Name>
                    </span>
                  )}
                </li>
              ))}
            </ul>
          </Panel>
        );
      })}
    </Page>
  );
}

function FoundText({ text, found }: Pick<SearchProps, 'text' | 'found'>): JSX.Element {
  const names = found.length === mostFound ? `The first ${mostFound} names` : counted(found.length, 'name');
  return (
    <>
      {found.length === 0 ? 'No name' : names} with <Name>{text}</Name>
    </>
  );
}
