/** Pushing network pipes: upload, what was found in the file, and the pushes so far. */
import type { JSX } from 'preact';
import { z } from 'zod';
import { correctedFileOf } from '../../app/pushes/push.ts';
import { keptList, readKeptPushes, type RunListDocument, withLiveFigures } from '../../app/runs/run-status.ts';
import { bytesText } from '../../core/base/text.ts';
import type { JobDescription } from '../../core/run/job-description.ts';
import { RequestProblem } from '../problem.ts';
import { ActionForm, Field, mayAct, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Name, Panel, Remark, RunLink } from './parts.tsx';
import type { Pages } from './routes.tsx';
import { RunTable } from './runs.tsx';

export function addPushPage(pages: Pages): void {
  const { app } = pages.context;
  pages.add({
    url: '/push',
    query: z.object({ corrects: z.string().max(100).default('') }),
    page: async ({ frame, reader, caller }, { query: { corrects } }) => {
      const run =
        corrects === ''
          ? undefined
          : (await reader.read(['run', corrects], () => app.ledger.runs.read(corrects))).value;
      const file = run && correctedFileOf(run);
      if (corrects !== '' && file === undefined)
        throw new RequestProblem(404, 'no-such-push', `there is no push ${corrects}, whose rows could be corrected`);
      const { value } = await reader.read(['pushes'], () => readKeptPushes(app, 10));
      const pushes = await reader.readLive(
        ['pushes now'],
        () => withLiveFigures(app, value),
        () => keptList(app, value),
      );
      const maxBytes = app.config.http.maxUploadMb * 1_000_000;
      return (
        <PushPage
          frame={frame}
          pushes={pushes}
          jobs={app.jobs}
          maxBytes={maxBytes}
          corrected={file === undefined ? undefined : { runId: corrects, file }}
          reader={caller}
        />
      );
    },
  });
}

/** Where the rows that a push rejected are pushed, corrected. */
export function correctionOf(runId: string): string {
  return `/push?${new URLSearchParams({ corrects: runId }).toString()}`;
}

interface PushProps {
  readonly frame: Frame;
  readonly pushes: RunListDocument;
  readonly jobs: readonly JobDescription[];
  readonly maxBytes: number;
  /** The push whose rejected rows the file is to have. */
  readonly corrected: { readonly runId: string; readonly file: string } | undefined;
  readonly reader: Reader;
}

function PushPage({ frame, pushes, jobs, maxBytes, corrected, reader }: PushProps): JSX.Element {
  return (
    <Page {...frame} title="Push" section="Push">
      <h1>Push network pipes</h1>
      {!mayAct(reader) ? (
        <Remark tone="idle">
          <p>Your role may not push. The pushes so far are below.</p>
        </Remark>
      ) : (
        <Panel title={corrected === undefined ? 'Choose a file' : 'Choose the corrected file'}>
          {corrected === undefined ? null : (
            <Remark tone="idle">
              <p>
                It corrects the rejected rows of <Name>{corrected.file}</Name>, run <RunLink runId={corrected.runId} />.
                Rows that it lacks stay rejected, and the alert says how many. <a href="/push">Push another file</a>
              </p>
            </Remark>
          )}
          <p class="muted">
            CSV with a header of the ten field names, plain or gzip, up to {bytesText(maxBytes)}. Check it first: that
            sends nothing to the service.
          </p>
          <ActionForm
            asks="POST /api/v1/pushes"
            reader={reader}
            layout="stack"
            body={corrected === undefined ? {} : { corrects: corrected.runId }}
          >
            <Field label="CSV file">
              <input type="file" name="file" accept=".csv,.gz,text/csv" required />
            </Field>
            {corrected === undefined ? (
              <label class="check">
                <input type="checkbox" name="again" value="true" /> Push it even if this content was pushed before
              </label>
            ) : null}
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
