/** What is known of a well below its plots: gaps, alerts and checks, quarantined records, the runs that read it, restatements. */
import type { JSX } from 'preact';
import type { AlertGroup } from '../../app/alerts/alerts.ts';
import type { CheckSummary } from '../../app/wells/checks.ts';
import { rangeText, type WellDocument } from '../../app/wells/well.ts';
import { counted, figure, parsedJson, printable } from '../../core/base/text.ts';
import { Panel, RunLink, severityTones, State, Table, Time, unitTones } from './parts.tsx';

/** Titles of columns, with their units. */
export type Titles = Readonly<Record<string, string>>;

const mostGapsShown = 12;

/** A click on one fills the form of the backfill, and zooms. */
export function Gaps({ well: { gaps } }: { readonly well: WellDocument }): JSX.Element {
  const days = gaps.reduce((sum, gap) => sum + gap.days, 0);
  const more = gaps.slice(mostGapsShown);
  return (
    <Panel
      title={counted(gaps.length, 'gap')}
      aside={<span class="small muted">{counted(days, 'day')} without a row</span>}
    >
      <GapList gaps={gaps.slice(0, mostGapsShown)} />
      {more.length === 0 ? null : (
        <details>
          <summary>{counted(more.length, 'older gap')}</summary>
          <GapList gaps={more} />
        </details>
      )}
    </Panel>
  );
}

function GapList({ gaps }: Pick<WellDocument, 'gaps'>): JSX.Element {
  return (
    <ul class="gap-list">
      {gaps.map(({ from, lastDay, to, days, neverRead, isOpen }) => (
        <li key={from}>
          <a href={`?from=${from}&to=${to}#days`} data-gap>
            {gapText({ from, lastDay, isOpen, isNeverRead: neverRead === days })} ({counted(days, 'day')})
          </a>
          {neverRead === 0 ? null : (
            <span class="muted small">
              {' '}
              {neverRead === days ? 'never read' : `${figure(neverRead)} of them never read`}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

function gapText(
  gap: { readonly from: string; readonly lastDay: string } & Readonly<Record<'isOpen' | 'isNeverRead', boolean>>,
) {
  const { from, lastDay, isOpen, isNeverRead } = gap;
  if (isOpen) return `${isNeverRead ? 'not read' : 'silent'} since ${from}`;
  return from === lastDay ? from : `${from} to ${lastDay}`;
}

export function AlertsOfWell(props: {
  readonly groups: readonly AlertGroup[];
  readonly checks: readonly CheckSummary[];
  readonly titles: Titles;
}): JSX.Element | null {
  const { groups, checks, titles } = props;
  // A check with findings is an alert of its own: it is said once.
  const others = groups.filter(({ first }) => first.kind !== 'check');
  if (others.length === 0 && checks.length === 0) return null;
  return (
    <Panel title="Alerts and checks">
      {others.length === 0 ? null : (
        <ul class="list">
          {others.map(({ first, words }) => (
            <li key={first.id}>
              <span>
                <State tone={severityTones[first.severity]} label={words} />{' '}
                {first.state === 'acknowledged' ? (
                  <span class="muted small">acknowledged by {printable(first.acknowledgedBy ?? 'somebody')}, </span>
                ) : null}
                <span class="muted small">
                  since <Time at={first.openedAt} />
                </span>
              </span>
              <span>{printable(first.summary)}</span>
            </li>
          ))}
        </ul>
      )}
      {checks.length === 0 ? null : <Checks checks={checks} titles={titles} />}
    </Panel>
  );
}

function Checks({
  checks,
  titles,
}: {
  readonly checks: readonly CheckSummary[];
  readonly titles: Titles;
}): JSX.Element {
  return (
    <Table
      caption="What checks found"
      columns={[
        { title: 'Check' },
        { title: 'Days', isNumber: true },
        { title: 'First' },
        { title: 'Last' },
        { title: 'Farthest from what is expected' },
      ]}
      rows={checks.map(({ check, findings, firstDay, lastDay, severity, worstField, worstValue }) => ({
        key: check,
        cells: [
          <State tone={severityTones[severity]} label={check} />,
          figure(findings),
          <ShowDays from={firstDay} />,
          <ShowDays from={lastDay} />,
          `${titleOf(worstField, titles)}${worstValue === null ? '' : `: ${numberText(worstValue)}`}`,
        ],
      }))}
    />
  );
}

/** A link that zooms to a day. */
function ShowDays({ from }: { readonly from: string }): JSX.Element {
  return (
    <a href={`?show=${from}..${from}#days`} data-day={from}>
      {from}
    </a>
  );
}

function titleOf(column: string, titles: Titles): string {
  return titles[column] ?? column.replaceAll('_', ' ');
}

/** Of any size, with its digits: 11,176.6. */
function numberText(value: number): string {
  return value.toLocaleString('en-GB', { maximumFractionDigits: 3 });
}

export function Quarantined({ well }: { readonly well: WellDocument }) {
  const { quarantined, quarantinedRecords, acceptedRecords } = well;
  if (quarantinedRecords === 0) return null;
  return (
    <Panel
      id="quarantined"
      title="Quarantined records"
      aside={<span class="small muted">{recordsText(quarantinedRecords, acceptedRecords)}, the latest days first</span>}
    >
      <p class="muted">
        The service sent them, and they break the contract of its interface: they are kept as they came, and no row of
        the warehouse is made of them. An earlier row of their day stays and counts. They leave when the service sends
        them right.
      </p>
      <ul class="list">
        {quarantined.map(({ day, xid, reason, raw, runId, noticedAt, accepted }) => (
          <li key={`${day ?? ''} ${xid ?? ''} ${noticedAt} ${raw.length}`}>
            <span>
              {day === null ? <strong>without a day</strong> : <ShowDays from={day} />}: {printable(reason)}
            </span>
            <span class="muted small">
              noticed <Time at={noticedAt} /> by run <RunLink runId={runId} />
            </span>
            {accepted === null ? null : (
              <span>
                accepted by {printable(accepted.by)}, <Time at={accepted.at} />: {printable(accepted.because)}
              </span>
            )}
            <details>
              <summary>The record as it came</summary>
              <pre>{prettyJson(raw)}</pre>
            </details>
          </li>
        ))}
      </ul>
      {quarantinedRecords > quarantined.length ? (
        <p class="muted">and {counted(quarantinedRecords - quarantined.length, 'more record')}</p>
      ) : null}
    </Panel>
  );
}

/** `3 records, 1 of them accepted`. */
export function recordsText(records: number, accepted: number): string {
  return `${counted(records, 'record')}${accepted === 0 ? '' : `, ${figure(accepted)} of them accepted`}`;
}

/** As it is where it is no whole JSON. */
function prettyJson(raw: string): string {
  const parsed = parsedJson(raw);
  return parsed === undefined ? printable(raw) : JSON.stringify(parsed, null, 2).split('\n').map(printable).join('\n');
}

export function Reads({ reads }: Pick<WellDocument, 'reads'>): JSX.Element | null {
  if (reads.length === 0) return null;
  return (
    <Panel title="Runs that read it" aside={<span class="small muted">the latest first</span>}>
      <Table
        caption="Runs that read the well"
        columns={[
          { title: 'Run' },
          { title: 'At' },
          { title: 'Of the well' },
          { title: 'Days' },
          { title: 'Rows changed', isNumber: true },
          { title: 'Why' },
        ]}
        rows={reads.map(({ runId, at, state, runState, days, changed, fault }) => ({
          key: runId,
          cells: [
            <RunLink runId={runId} />,
            <Time at={at} />,
            <State tone={unitTones[state]} label={state === 'open' ? runState : state} />,
            days === null ? '' : <span class="days">{rangeText(days)}</span>,
            figure(changed),
            fault === null ? '' : printable(fault),
          ],
        }))}
      />
    </Panel>
  );
}

const [firstRestated, mostRestated] = [10, 200];

export function Restated({
  restated,
  titles,
}: Pick<WellDocument, 'restated'> & { readonly titles: Titles }): JSX.Element | null {
  if (restated.length === 0) return null;
  const more = restated.slice(firstRestated, mostRestated);
  return (
    <Panel
      title="Restated"
      aside={<span class="small muted">{counted(restated.length, 'value')}, the latest first</span>}
    >
      <RestatedTable restated={restated.slice(0, firstRestated)} titles={titles} />
      {more.length === 0 ? null : (
        <details>
          <summary>{counted(more.length, 'older value')}</summary>
          <RestatedTable restated={more} titles={titles} />
        </details>
      )}
      {restated.length > mostRestated ? (
        <p class="muted">
          All of them: <code>wellsync restatements --since 1970-01-01 --uwi …</code>
        </p>
      ) : null}
    </Panel>
  );
}

function RestatedTable({
  restated,
  titles,
}: Pick<WellDocument, 'restated'> & { readonly titles: Titles }): JSX.Element {
  return (
    <Table
      caption="Restated values"
      columns={[
        { title: 'Day' },
        { title: 'Field' },
        { title: 'Before', isNumber: true },
        { title: 'Now', isNumber: true },
        { title: 'Noticed' },
        { title: 'By run' },
      ]}
      rows={restated.map(({ day, column, before, after, noticedAt, runId }) => ({
        key: `${day} ${column} ${noticedAt}`,
        cells: [
          <ShowDays from={day} />,
          column === null ? 'the whole row' : titleOf(column, titles),
          before === null ? '' : numberText(before),
          column === null ? 'removed' : after === null ? '' : numberText(after),
          <Time at={noticedAt.replace(' ', 'T')} />,
          <RunLink runId={runId} />,
        ],
      }))}
    />
  );
}
