/** Open alerts, grouped by cause: what happened, to what, what to do about it, and where to see more. */
import type { ComponentChildren, JSX } from 'preact';
import { type AlertDocument, type AlertGroup, kindsText, wellOfAlert } from '../../app/alerts/alerts.ts';
import type { RetryNeeds } from '../../app/runs/retry.ts';
import { plainCause } from '../../app/runs/run-document.ts';
import type { Action } from '../../core/base/action.ts';
import { counted, figure, printable } from '../../core/base/text.ts';
import { ActionButton, ActionForm, Command, Field, mayAct, type Reader } from './forms.tsx';
import { correctionOf } from './push.tsx';
import { Name, OfUnknown, Panel, Person, severityTones, State, Time, WellLink } from './parts.tsx';

interface Acting {
  /** By run, what its retry by one request needs. */
  readonly retries: ReadonlyMap<string, RetryNeeds>;
  readonly reader: Reader;
}

interface AlertsProps extends Acting {
  readonly open: readonly AlertGroup[];
  readonly acknowledged: readonly AlertGroup[];
}

/** What is serious first; odd values that checks found, and what somebody has acknowledged, are folded. */
export function Alerts({ open, acknowledged, ...acting }: AlertsProps): JSX.Element {
  const isChecked = ({ first }: AlertGroup): boolean => first.severity === 'info' && first.kind === 'check';
  const serious = open.filter(({ first }) => first.severity !== 'info');
  const others = open.filter((group) => group.first.severity === 'info' && !isChecked(group));
  return (
    <>
      {serious.length === 0 ? null : (
        <Panel title="What needs you">
          <Groups groups={serious} {...acting} />
        </Panel>
      )}
      {others.length === 0 ? null : (
        <Panel title="Good to know">
          <Groups groups={others} {...acting} />
        </Panel>
      )}
      <FoldedGroups id="checked" title="Odd values" groups={open.filter(isChecked)} {...acting} />
      <FoldedGroups id="acknowledged" title="Acknowledged" groups={acknowledged} {...acting} />
    </>
  );
}

function FoldedGroups(
  props: Acting & { readonly id: string; readonly title: string; readonly groups: readonly AlertGroup[] },
): JSX.Element | null {
  const { id, title, groups, ...acting } = props;
  if (groups.length === 0) return null;
  return (
    <details class="panel fold" id={id}>
      <summary>
        <h2>{title}</h2>
        <span class="muted">{kindsText(groups)}</span>
      </summary>
      <Groups groups={groups} {...acting} />
    </details>
  );
}

/** Records that cannot be read may have as many causes as there are of them. */
const mostGroups = 50;

function Groups({ groups, ...acting }: Acting & { readonly groups: readonly AlertGroup[] }) {
  return (
    <>
      <ul class="list alerts">
        {groups.slice(0, mostGroups).map((group) => (
          <Group key={group.first.id} group={group} {...acting} />
        ))}
      </ul>
      {groups.length <= mostGroups ? null : (
        <p class="muted">
          And {counted(groups.length - mostGroups, 'more cause')}: <code>wellsync alerts list</code>
        </p>
      )}
    </>
  );
}

interface GroupProps extends Acting {
  readonly group: AlertGroup;
}

/** Those whose cause says more than their kind. */
const causeKinds: ReadonlySet<AlertDocument['kind']> = new Set(['check', 'record-quarantined']);

function Group({ group, ...acting }: GroupProps): JSX.Element {
  const { first, alerts, words } = group;
  const { severity, openedAt } = first;
  const summary = plainCause({ code: first.cause, cause: first.summary });
  return (
    <li>
      <div class="alert-head">
        <State tone={severityTones[severity]} label={severity} />
        <h3>{causeKinds.has(first.kind) ? `${words}: ${printable(first.cause)}` : words}</h3>
        <span class="muted small">
          since <Time at={openedAt} />
        </span>
      </div>
      {alerts.length === 1 ? (
        <p>
          <Targets group={group} />: <Name>{summary}</Name>
        </p>
      ) : (
        <>
          <div>
            <Targets group={group} />
          </div>
          <p class="muted">
            The first of them: <Name>{summary}</Name>
          </p>
        </>
      )}
      <Acknowledgement alert={first} />
      <div class="actions">
        <ToDo group={group} {...acting} />
        <Statement group={group} {...acting} />
      </div>
    </li>
  );
}

function Acknowledgement({ alert }: { readonly alert: AlertDocument }): JSX.Element | null {
  const { state, acknowledgedBy, acknowledgedAt, acknowledgedBecause, until } = alert;
  if (state !== 'acknowledged' || acknowledgedBy === null) return null;
  return (
    <p class="muted small">
      Acknowledged by <Person name={acknowledgedBy} />, <Time at={acknowledgedAt} />
      {until === null ? '' : [', until ', <Time at={until} />]}: <Name>{acknowledgedBecause ?? ''}</Name>
    </p>
  );
}

const mostNamed = 3;

/** The first targets, each a link to its page where it has one; the others are folded. */
function Targets({ group: { alerts } }: { readonly group: AlertGroup }): JSX.Element {
  const distinct = [...new Map(alerts.map((alert) => [wellOfAlert(alert) ?? alert.target.id, alert])).values()];
  const links = distinct.map((alert) => <Target alert={alert} />);
  const rest = links.slice(mostNamed, mostFolded);
  return (
    <>
      {joined(links.slice(0, mostNamed))}
      {rest.length === 0 ? null : (
        <details class="more" id={`more-${alerts[0]?.id ?? ''}`}>
          <summary>and {figure(distinct.length - mostNamed)} more</summary>
          {joined(rest)}
          {distinct.length > mostFolded ? ` and ${figure(distinct.length - mostFolded)} others` : null}
        </details>
      )}
    </>
  );
}

/** Behind the fold; a list of more has a page of its own. */
const mostFolded = 200;

function joined(links: readonly JSX.Element[]): ComponentChildren {
  return links.flatMap((link, index) => (index === 0 ? [link] : [', ', link]));
}

function Target({ alert }: { readonly alert: AlertDocument }): JSX.Element {
  const uwi = wellOfAlert(alert);
  if (uwi !== undefined) return <WellLink uwi={uwi} />;
  const { kind, id } = alert.target;
  if (kind === 'schedule') return <a href={`/schedules#${encodeURIComponent(id)}`}>{id}</a>;
  // Of a path the name says which file it is.
  return <Name>{kind === 'file' ? id.slice(id.lastIndexOf('/') + 1) : id}</Name>;
}

/** What a person can do about them: a button where that is one request, else a link to where it is done. */
function ToDo({ group, ...acting }: GroupProps): JSX.Element | null {
  const { action, kind, openedAt } = group.first;
  const [runId] = group.runIds;
  const path = runId === undefined ? undefined : `/runs/${encodeURIComponent(runId)}`;
  const run = path === undefined ? null : <Link href={path} label="See the run" />;
  if (partKinds.includes(kind)) return <Link href="/service?check=yes" label="Check every part" />;
  if (kind === 'record-quarantined') return <Records group={group} />;
  if (kind === 'schedule-missed') {
    return <Link href={`/schedules#${encodeURIComponent(group.first.target.id)}`} label="See the schedule" />;
  }
  const acts: Readonly<Partial<Record<Action['kind'], JSX.Element | null>>> = {
    'retry-run': <Retry group={group} {...acting} />,
    'release-rows': path === undefined ? null : <Link href={path} label="See the rows, and release them" />,
    'get-rejects': runId === undefined ? null : <Rejects runId={runId} reader={acting.reader} />,
    'show-unknown': <Link href="/coverage/unknown" label="See the unknown wells" />,
    'show-unknown-definitions': run,
    'show-stale': <ReadAgain group={group} {...acting} />,
    'show-restated': <Command text={`wellsync restatements --since ${dayBefore(openedAt)}`} />,
    'plan-cleanup': <Link href="/cleanup" label="Make a new plan" />,
    'release-service': <Link href="/service?check=yes" label="Ask the service now" />,
    'start-worker': <Command text="wellsync worker" />,
    rezone: <Command text="wellsync warehouse rezone --dry-run" />,
  };
  return (action === null ? undefined : acts[action.kind]) ?? null;
}

/** The rows were changed before their alert opened, and a day of the command begins in its zone. */
function dayBefore(instant: string): string {
  return new Date(Date.parse(instant) - 2 * 86_400_000).toISOString().slice(0, 10);
}

/** Of a part of the installation, which the checks of the service page say more of. */
const partKinds: readonly AlertDocument['kind'][] = ['disk-low', 'outage', 'feed-late'];

function Retry({ group: { runIds, retriedRunId = '' }, retries, reader }: GroupProps): JSX.Element {
  const needs = retries.get(retriedRunId);
  return (
    <>
      {needs?.isOfUnknown === true ? <OfUnknown /> : null}
      {needs === undefined || needs.isOfUnknown ? null : (
        <ActionButton
          asks={`POST /api/v1/runs/${encodeURIComponent(retriedRunId)}/retry`}
          reader={reader}
          needs={needs.role}
          label="Retry what is not done"
          kind="first"
        />
      )}
      {runIds.slice(0, mostNamed).map((runId) => (
        <Link
          key={runId}
          href={`/runs/${encodeURIComponent(runId)}`}
          label={runIds.length === 1 ? 'See the run' : `See ${runId}`}
        />
      ))}
    </>
  );
}

/** The page of a well has its records with their reasons; those of other wells are behind their names. */
function Records({ group: { first, alerts } }: Pick<GroupProps, 'group'>): JSX.Element | null {
  const uwi = wellOfAlert(first);
  if (uwi === undefined) return null;
  const label = alerts.length === 1 ? 'See the record' : 'See the first record';
  return <Link href={`/wells/${encodeURIComponent(uwi)}#quarantined`} label={label} />;
}

function Rejects({ runId, reader }: { readonly runId: string; readonly reader: Reader }): JSX.Element {
  return (
    <>
      <a class="button first" href={`/api/v1/runs/${encodeURIComponent(runId)}/rejects`} download>
        Download the rejected rows
      </a>
      {mayAct(reader) ? <Link href={correctionOf(runId)} label="Push them corrected" /> : null}
    </>
  );
}

/** The server knows all of them, also those that this page leaves out. */
function ReadAgain({ group: { first, alerts }, reader }: GroupProps): JSX.Element {
  return (
    <>
      <ActionButton
        asks="POST /api/v1/runs"
        reader={reader}
        body={{ export: 'daily-production', likeAlert: first.id }}
        commandBody={{ export: 'daily-production', uwis: alerts.flatMap((alert) => wellOfAlert(alert) ?? []) }}
        label={alerts.length === 1 ? 'Read it again now' : 'Read all of them again now'}
      />
      <Link href="/coverage/stale" label="See the silent wells" />
    </>
  );
}

function Link({ href, label }: Readonly<Record<'href' | 'label', string>>): JSX.Element {
  return (
    <a class="button" href={href}>
      {label}
    </a>
  );
}

/** What a person says of them, with the reason: that is kept, and told to others. */
function Statement({ group, reader }: GroupProps): JSX.Element | null {
  const { first, alerts, endedBy } = group;
  if (!mayAct(reader)) return null;
  const isOpen = first.state === 'open';
  if (!isOpen && endedBy === 'release') return null;
  const path = 'POST /api/v1/alerts';
  return (
    <details class="say" id={`say-${first.id}`}>
      <summary class="button">{isOpen ? 'Acknowledge …' : 'Close …'}</summary>
      <ActionForm
        asks={`${path}/acknowledge`}
        reader={reader}
        body={{ ids: [first.id], withGroups: alerts.length > 1 }}
        then="/"
      >
        <Field label="Reason, which others see">
          <input name="because" required maxLength={1_000} autocomplete="off" />
        </Field>
        {isOpen ? (
          <Field label="Silent until">
            <input type="date" name="until" />
          </Field>
        ) : null}
        {isOpen ? (
          <button type="submit" class="first">
            Acknowledge
          </button>
        ) : null}
        {endedBy === 'person' ? (
          <button type="submit" data-asks={`${path}/resolve`} data-without="until">
            It is solved
          </button>
        ) : null}
        {endedBy === 'accept' ? (
          <button type="submit" data-asks={`${path}/accept`} data-without="until">
            Accept as it is
          </button>
        ) : null}
      </ActionForm>
    </details>
  );
}
