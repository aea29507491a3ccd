/** Pushing network pipes: upload, what was found in the file, and the pushes so far. */
import type { JSX } from 'preact';
import { keptList, readKeptPushes, type RunListDocument, withLiveFigures } from '../../app/runs/run-status.ts';
import { bytesText } from '../../core/base/text.ts';
import type { JobDescription } from '../../core/run/job-description.ts';
import { ActionForm, Field, mayAct, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Remark, Panel } from './parts.tsx';
import type { Pages } from './routes.tsx';
import { RunTable } from './runs.tsx';

export function addPushPage(pages: Pages): void {
  const { app } = pages.context;
  pages.add({
    url: '/push',
    page: async ({ frame, reader, caller }) => {
      const { value } = await reader.read('pushes', () => readKeptPushes(app, 10));
      const pushes = await reader.readLive(
        'pushes now',
        () => withLiveFigures(app, value),
        () => keptList(app, value),
      );
      const maxBytes = app.config.http.maxUploadMb * 1_000_000;
      return <PushPage frame={frame} pushes={pushes} jobs={app.jobs} maxBytes={maxBytes} reader={caller} />;
    },
  });
}

interface PushProps {
  readonly frame: Frame;
  readonly pushes: RunListDocument;
  readonly jobs: readonly JobDescription[];
  readonly maxBytes: number;
  readonly reader: Reader;
}

function PushPage({ frame, pushes, jobs, maxBytes, reader }: PushProps): JSX.Element {
  return (
    <Page {...frame} title="Push" section="Push">
      <h1>Push network pipes</h1>
      {!mayAct(reader) ? (
        <Remark tone="idle">
          <p>Your role may not push. The pushes so far are below.</p>
        </Remark>
      ) : (
        <Panel title="Choose a file">
          <p class="muted">
            CSV with a header of the ten field names, plain or gzip, up to {bytesText(maxBytes)}. Check it first: that
            sends nothing to the service.
          </p>
          <ActionForm asks="POST /api/v1/pushes" reader={reader} layout="stack">
            <Field label="CSV file">
              <input type="file" name="file" accept=".csv,.gz,text/csv" required />
            </Field>
            <label class="check">
              <input type="checkbox" name="again" value="true" /> Push it even if this content was pushed before
            </label>
            <div class="actions">
              <button type="submit" name="dryRun" value="true">
                Check the file
              </button>
              <button type="submit" class="first">
                Push it
              </button>
            </div>
          </ActionForm>
          <div id="look" />
        </Panel>
      )}
      <Panel title="Pushes so far" aside={<a href="/runs?job=push+network-pipes">All of them</a>}>
        {pushes.runs.length === 0 ? (
          <Empty title="No file was pushed yet" />
        ) : (
          <RunTable runs={pushes.runs} jobs={jobs} />
        )}
      </Panel>
    </Page>
  );
}
