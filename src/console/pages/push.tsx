/** Pushing network pipes: upload, what was found in the file, and the pushes so far. */
import type { JSX } from 'preact';
import type { JobDescription } from '../../core/run/job-description.ts';
import { bytesText } from '../../core/base/text.ts';
import type { RunList } from '../../app/run-status.ts';
import type { ShownCount } from '../../app/views/run-counts.ts';
import { ActionButton, ActionForm, Field, type FormKeys } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Figures, Name, Note, Panel } from './parts.tsx';
import { RunTable } from './runs.tsx';

interface PushProps {
  readonly frame: Frame;
  readonly pushes: RunList;
  readonly jobs: readonly JobDescription[];
  readonly maxBytes: number;
  /** Undefined where the reader may not push. */
  readonly keys: FormKeys | undefined;
}

export function PushPage({ frame, pushes, jobs, maxBytes, keys }: PushProps): JSX.Element {
  return (
    <Page {...frame} title="Push" section="Push">
      <h1>Push network pipes</h1>
      {keys === undefined ? (
        <Note tone="idle">
          <p>Your role may not push. The pushes so far are below.</p>
        </Note>
      ) : (
        <Panel title="A file">
          <p class="muted">
            CSV with a header of the ten field names, plain or gzip, up to {bytesText(maxBytes)}. It is checked first,
            and nothing is sent before you say so.
          </p>
          <ActionForm action="/push" keys={keys} layout="stack" isUpload>
            <Field label="CSV file">
              <input type="file" name="file" accept=".csv,.gz,text/csv" required />
            </Field>
            <label class="check">
              <input type="checkbox" name="topology" value="yes" /> Check how the pipes join as well
            </label>
            <button type="submit" class="first">
              Check the file
            </button>
          </ActionForm>
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

/** What a dry run found in an uploaded file. */
export interface ShownLook {
  readonly name: string;
  /** Names the upload. */
  readonly sha256: string;
  readonly bytes: number;
  readonly counts: readonly ShownCount[];
  readonly sum: string;
  readonly isBalanced: boolean;
  readonly notices: readonly string[];
  readonly topology: readonly string[];
  readonly rejected: number;
  readonly acceptable: number;
  /** The run that pushed the same content before. */
  readonly pushedBy: string | undefined;
}

export function LookPage({ frame, look, keys }: { frame: Frame; look: ShownLook; keys: FormKeys }): JSX.Element {
  const { name, sha256, bytes, rejected, acceptable, pushedBy } = look;
  return (
    <Page {...frame} title={`Push ${name}`} section="Push">
      <div class="title">
        <h1>
          <Name>{name}</Name>
        </h1>
        <span class="muted">
          {bytesText(bytes)}, SHA-256 <code>{sha256.slice(0, 12)}</code>
        </span>
      </div>
      {pushedBy === undefined ? null : (
        <Note tone="warn" title="This content was pushed before">
          <p>
            By run{' '}
            <a class="id" href={`/runs/${encodeURIComponent(pushedBy)}`}>
              {pushedBy}
            </a>
            . Push it again only where the service has lost it.
          </p>
        </Note>
      )}
      <Note tone={acceptable === 0 ? 'bad' : rejected > 0 ? 'warn' : 'good'}>
        <p class="lead">{lookText(look)}</p>
        <p>Nothing was sent yet.</p>
      </Note>
      <div class="actions">
        {acceptable === 0 ? null : (
          <ActionButton
            action="/push/start"
            keys={keys}
            fields={{ sha256, name, again: pushedBy === undefined ? 'no' : 'yes' }}
            label={pushedBy === undefined ? 'Push it' : 'Push it again'}
            kind="first"
          />
        )}
        {rejected === 0 ? null : (
          <a class="button" href={`/push/rejects/${sha256}`} download>
            Download the rejected rows
          </a>
        )}
        <a class="button" href="/push">
          Another file
        </a>
      </div>
      <Panel title="Counts" aside={<span class={`balance ${look.isBalanced ? 'good' : 'bad'}`}>{look.sum}</span>}>
        <Figures figures={look.counts.map(({ name: each, count, remark }) => ({ name: each, value: count, remark }))} />
      </Panel>
      <Sentences title="Notices" sentences={look.notices} />
      <Sentences title="How the pipes join" sentences={look.topology} />
    </Page>
  );
}

function lookText({ rejected, acceptable }: ShownLook): string {
  if (acceptable === 0) return 'No row can be sent.';
  return rejected === 0
    ? 'Every row can be sent.'
    : 'Some rows break the rules and would be rejected; the others can be sent.';
}

function Sentences({ title, sentences }: { title: string; sentences: readonly string[] }): JSX.Element | null {
  if (sentences.length === 0) return null;
  return (
    <Panel title={title}>
      <ul class="list">
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </Panel>
  );
}
