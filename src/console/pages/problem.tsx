/** The page of an error: what happened, to what, and what to do next. */
import type { JSX } from 'preact';
import { type Frame, Page } from './frame.tsx';
import { Empty, Note } from './parts.tsx';

export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly message: string;
  readonly advice: string | undefined;
  /** Passes by itself: the page asks again. */
  readonly isPassing: boolean;
}

export function ProblemPage({ frame, problem }: { readonly frame: Frame; readonly problem: Problem }): JSX.Element {
  const { title, message, advice, isPassing, status } = problem;
  return (
    <Page {...frame} title={title} section={undefined}>
      <h1>{title}</h1>
      {status === 404 ? (
        <section class="panel">
          <Empty title={message}>
            <a href="/">To the overview</a>
          </Empty>
        </section>
      ) : (
        <Note tone={isPassing ? 'warn' : 'bad'} title={message}>
          {advice === undefined ? null : <p>{advice}</p>}
          {isPassing ? (
            <p id="again" data-again={5}>
              This page looks again by itself.
            </p>
          ) : null}
        </Note>
      )}
    </Page>
  );
}
