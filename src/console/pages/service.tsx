/** The service: its profile, its limits, its holds, and whether every part is reached. */
import type { JSX } from 'preact';
import type { Fault } from '../../core/base/errors.ts';
import type { ServiceHold } from '../../core/run/service-hold.ts';
import type { ServiceProfile } from '../../core/paging/service-profile.ts';
import type { ServiceView } from '../../app/service/service-view.ts';
import type { Finding } from '../../app/health/finding.ts';
import { ActionButton, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Facts, Name, Note, Panel, State, type Tone, Time } from './parts.tsx';

interface ShownService extends ServiceView {
  /** Undefined until the checks are requested: they send requests. */
  readonly findings: readonly Finding[] | undefined;
}

interface ServiceProps {
  readonly frame: Frame;
  readonly shown: ShownService;
  readonly adviceOf: (fault: Pick<Fault, 'hint' | 'action'>) => string | undefined;
  readonly reader: Reader;
}

export function ServicePage({ frame, shown, adviceOf, reader }: ServiceProps): JSX.Element {
  const { profile, limits, findings } = shown;
  return (
    <Page {...frame} title="Service" section="Service">
      <div class="title">
        <h1>
          <Name>{frame.service ?? 'No service yet'}</Name>
        </h1>
        <div class="actions">
          <a class="button" href="/service?check=yes">
            Check every part
          </a>
        </div>
      </div>
      <HeldBackNote heldBack={shown} reader={reader} />
      {findings === undefined ? null : <Findings findings={findings} adviceOf={adviceOf} />}
      <div class="columns">
        <Panel title="Profile">
          {profile === undefined ? (
            <Empty title="Not probed yet">
              <p>
                The first export probes by itself, or <code>wellsync probe</code>.
              </p>
            </Empty>
          ) : (
            <Facts facts={factsOf(profile)} />
          )}
        </Panel>
        <Panel title="Limits">
          <Facts facts={limits} />
        </Panel>
      </div>
    </Page>
  );
}

function factsOf({ uwi, probedAtMs, evidence }: ServiceProfile) {
  return [
    ['Probed', [<Time ms={probedAtMs} />, ' on ', <Name>{uwi}</Name>]],
    ...evidence.map(({ finding, value }) => [finding, value] as const),
  ] as const;
}

function HeldBackNote(props: { readonly heldBack: ServiceView; readonly reader: Reader }): JSX.Element {
  const { heldBack, reader } = props;
  const { hold, outage, isLive } = heldBack;
  if (!isLive) {
    return (
      <Note tone="warn" title="Redis does not answer">
        <p>It is not known whether requests are held back. This page says so again when it is loaded.</p>
      </Note>
    );
  }
  if (hold === undefined && outage === undefined) {
    return (
      <Note tone="good">
        <p>No wait that the service requested, and no outage of it, holds requests back.</p>
      </Note>
    );
  }
  return (
    <Note tone="warn" title={outage === undefined ? 'The service asked all to wait' : 'The service is down'}>
      {outage === undefined ? null : (
        <p>
          Since <Time ms={outage.sinceMs} />: <Name>{outage.fault}</Name>. One request after another tries, and work
          goes on at its first answer.
        </p>
      )}
      {hold === undefined ? null : <HoldText hold={hold} />}
      <ActionButton asks="POST /api/v1/service/release" reader={reader} label="Send requests now" kind="danger" />
    </Note>
  );
}

function HoldText({ hold }: { readonly hold: ServiceHold }): JSX.Element {
  return (
    <p>
      Requests go on at <Time ms={hold.untilMs} />
      {hold.isTooLong ? (
        <>
          ; it requested a wait until <Time ms={hold.askedUntilMs} />, which is longer than the configuration allows.
        </>
      ) : (
        '.'
      )}
    </p>
  );
}

const findingTones: Readonly<Record<Finding['status'], Tone>> = { ok: 'good', warning: 'warn', failed: 'bad' };

function Findings({
  findings,
  adviceOf,
}: {
  readonly findings: readonly Finding[];
  readonly adviceOf: ServiceProps['adviceOf'];
}): JSX.Element {
  return (
    <Panel title="Checks">
      <ul class="list">
        {findings.map(({ part, status, message, hint, action }) => (
          <li key={`${part} ${message}`}>
            <span>
              <State tone={findingTones[status]} word={status} /> <strong>{part}</strong>
            </span>
            <span class="name">{message}</span>
            {status === 'ok' ? null : (
              <span class="muted">
                {adviceOf({ ...(hint === null ? {} : { hint }), ...(action === null ? {} : { action }) })}
              </span>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
