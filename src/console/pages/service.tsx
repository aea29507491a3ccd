/** The service: its profile, its limits, its holds, and whether every part is reached. */
import type { JSX } from 'preact';
import { z } from 'zod';
import type { Finding } from '../../app/health/finding.ts';
import { checksOfParts } from '../../app/health/health.ts';
import { type ServiceView, serviceViewOf } from '../../app/service/service-requests.ts';
import { ActionButton, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Facts, Heading, Name, Panel, RedisAway, Remark, State, Time, type Tone } from './parts.tsx';
import type { Pages } from './routes.tsx';

export function addServicePage(pages: Pages): void {
  const { app } = pages.context;
  pages.add({
    url: '/service',
    query: z.object({ check: z.literal('yes').optional() }),
    page: async ({ frame, reader, caller }, { query }) => {
      const findings = query.check === undefined ? undefined : await checksOfParts(app.config, undefined);
      const shown = { ...(await serviceViewOf(app, reader)), findings };
      return <ServicePage frame={frame} shown={shown} reader={caller} />;
    },
  });
}

interface ShownService extends ServiceView {
  /** Undefined until the checks are requested: they send requests. */
  readonly findings: readonly Finding[] | undefined;
}

interface ServiceProps {
  readonly frame: Frame;
  readonly shown: ShownService;
  readonly reader: Reader;
}

function ServicePage({ frame, shown, reader }: ServiceProps): JSX.Element {
  const { profile, limits, findings } = shown;
  return (
    <Page {...frame} title="Service" section="Service">
      <Heading title={<Name>{frame.service ?? 'No service yet'}</Name>}>
        <a class="button" href="/service?check=yes">
          Check every part
        </a>
      </Heading>
      <HeldBackRemark heldBack={shown} reader={reader} />
      {findings === undefined ? null : <Findings findings={findings} />}
      <div class="columns">
        <Panel title="Profile">
          {profile === null ? (
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

function factsOf({ uwi, probedAt, evidence }: NonNullable<ServiceView['profile']>) {
  return [
    ['Probed', [<Time at={probedAt} />, ' on ', <Name>{uwi}</Name>]],
    ...evidence.map(({ finding, value }) => [finding, value] as const),
  ] as const;
}

function HeldBackRemark(props: { readonly heldBack: ServiceView; readonly reader: Reader }): JSX.Element {
  const { heldBack, reader } = props;
  const { hold, outage, isLive } = heldBack;
  if (!isLive) return <RedisAway />;
  if (hold === null && outage === null) {
    return (
      <Remark tone="good">
        <p>Requests are sent: the service requested no wait, and is not known to be down.</p>
      </Remark>
    );
  }
  return (
    <Remark tone={outage === null || outage.isDue ? 'warn' : 'bad'} title={titleOf(outage)}>
      {outage === null ? null : (
        <p>
          It stopped answering at <Time at={outage.since} />: <Name>{outage.fault}</Name>.{' '}
          {outage.isDue
            ? 'The next request that is due asks it, and it may be up again. "Check every part" asks it now.'
            : 'All requests wait but one at a time, which tries; work goes on by itself at its first answer.'}
        </p>
      )}
      {hold === null ? null : <HoldText hold={hold} />}
      <ActionButton asks="POST /api/v1/service/release" reader={reader} label="Do not wait any longer" />
    </Remark>
  );
}

function titleOf(outage: ServiceView['outage']): string {
  if (outage === null) return 'The service asked all to wait';
  return outage.isDue ? 'The service was down' : 'The service is down';
}

function HoldText({ hold }: { readonly hold: NonNullable<ServiceView['hold']> }): JSX.Element {
  return (
    <p>
      Requests go on at <Time at={hold.until} />
      {hold.isTooLong ? (
        <>
          ; it requested a wait until <Time at={hold.askedUntil} />, which is longer than the configuration allows.
        </>
      ) : (
        '.'
      )}
    </p>
  );
}

const findingTones: Readonly<Record<Finding['status'], Tone>> = { ok: 'good', warning: 'warn', failed: 'bad' };

function Findings({ findings }: { readonly findings: readonly Finding[] }): JSX.Element {
  return (
    <Panel title="Checks">
      <ul class="list">
        {findings.map(({ part, status, message, hint }) => (
          <li key={`${part} ${message}`}>
            <span>
              <State tone={findingTones[status]} label={status} /> <strong>{part}</strong>
            </span>
            <span class="name">{message}</span>
            {status === 'ok' ? null : <span class="muted">{hint}</span>}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
