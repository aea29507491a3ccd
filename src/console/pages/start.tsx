/** Starting an export: of chosen wells or equipment, with dates, after a look at what will run. */
import type { JSX } from 'preact';
import { z } from 'zod';
import { definitionExports } from '../../app/exports/definitions.ts';
import { jobTitle } from '../../app/runs/run-scope.ts';
import { Acts, Choice, Field, mayAct, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Heading, Panel, Remark } from './parts.tsx';
import type { Pages } from './routes.tsx';

const text = z.string().max(100_000).default('');

export function addStartPage(pages: Pages): void {
  pages.add({
    url: '/start',
    query: z.object({ well: text, from: z.string().max(10).default(''), lastDay: z.string().max(10).default('') }),
    page: async ({ frame, caller }, { query }) => (
      <StartPage frame={{ ...frame, scripts: ['start.js'] }} reader={caller} {...query} />
    ),
  });
}

interface StartProps {
  readonly frame: Frame;
  readonly reader: Reader;
  /** What the form begins with. */
  readonly well: string;
  readonly from: string;
  readonly lastDay: string;
}

/** Names of the exports of the API, with the member of a request that lists their targets. */
const exports = [
  { name: 'daily-production', title: 'Daily production', member: 'uwis', many: 'wells' },
  ...definitionExports.map(({ name, member, targets: { many }, job }) => ({
    name,
    title: jobTitle(job),
    member,
    many,
  })),
] as const;

function StartPage({ frame, reader, well, from, lastDay }: StartProps): JSX.Element {
  return (
    <Page {...frame} title="Start an export" section="Runs">
      <Heading title="Start an export">
        <a class="button" href="/runs">
          All runs
        </a>
      </Heading>
      <noscript>
        <div class="note warn">
          <p>
            This page needs JavaScript. On a terminal:{' '}
            <code>wellsync export daily-production --uwi UWI --from DAY</code>
          </p>
        </div>
      </noscript>
      {!mayAct(reader) ? (
        <Remark tone="idle">
          <p>Your role may not start a run.</p>
        </Remark>
      ) : (
        <Panel title="What is to be read">
          <form id="start" class="stack" data-key={reader.pageKey} data-exports={JSON.stringify(exports)}>
            <Acts>
              <Choice
                label="Export"
                name="export"
                value="daily-production"
                choices={exports.map(({ name, title }) => [name, title] as const)}
              />
              <fieldset>
                <legend>Of which</legend>
                <label class="check">
                  <input type="radio" name="which" value="named" checked /> these <span data-many>wells</span>
                </label>
                <label class="check">
                  <input type="radio" name="which" value="warehouse" /> all that the warehouse knows
                </label>
                <label class="check">
                  <input type="radio" name="which" value="configured" /> those of the configuration
                </label>
              </fieldset>
              <Field label="One name a line">
                <textarea name="names" rows={6} spellcheck={false} placeholder={'15/9-F-12\n15/9-F-14'}>
                  {well}
                </textarea>
              </Field>
              <fieldset class="row" data-of="daily-production">
                <legend>Days; without any, all that has come since the last read</legend>
                <Field label="First day">
                  <input type="date" name="from" value={from} />
                </Field>
                <Field label="Last day">
                  <input type="date" name="lastDay" data-type="last-day" value={lastDay} />
                </Field>
                <label class="check">
                  <input type="checkbox" name="gaps" /> only days without data in the warehouse
                </label>
              </fieldset>
              <button type="submit" class="first">
                Show what will run
              </button>
            </Acts>
            <output class="form-state" />
          </form>
          <div id="confirm" class="note" hidden>
            <p class="lead" />
            <p id="confirm-unknown" />
            <div class="actions">
              <button type="button" class="first" id="start-now">
                Start it
              </button>
              <button type="button" id="change">
                Change it
              </button>
            </div>
            <output class="form-state" />
          </div>
        </Panel>
      )}
    </Page>
  );
}
