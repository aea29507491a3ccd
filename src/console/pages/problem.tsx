/** The page of an error: what happened, to what, and what to do next. */
import type { JSX } from 'preact';
import { Bare, type Frame, Page } from './frame.tsx';
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
  return (
    <Page {...frame} title={problem.title} section={undefined}>
      <What problem={problem} />
    </Page>
  );
}

/** Without a word of where the data is. */
export function StrangerProblemPage({ problem }: { readonly problem: Problem }): JSX.Element {
  return (
    <Bare title={problem.title}>
      <What problem={problem} />
      <p>
        <a href="/sign-in">Sign in</a>
      </p>
    </Bare>
  );
}

function What({ problem }: { readonly problem: Problem }): JSX.Element {
  const { title, message, advice, isPassing, status } = problem;
  return (
    <>
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
    </>
  );
}
