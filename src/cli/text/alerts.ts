/** Texts of alerts for a terminal. */
import { type AlertDocument, type AlertGroup, type alertHistoryDocument, groupsOf } from '../../app/alerts/alerts.ts';
import { instantText } from '../../core/base/text.ts';
import { adviceOf } from './actions.ts';
import { tableText } from './table.ts';

/** More alerts of one cause than these are one line. */
const mostOfCause = 3;

/** `isWhole`: a line for each, however many have one cause. */
export function alertListText(
  alerts: readonly AlertDocument[],
  { width, isWhole }: { readonly width: number; readonly isWhole: boolean },
): string {
  if (alerts.length === 0) return 'Nothing needs you.';
  const rows = groupsOf(alerts).flatMap((group) =>
    isWhole || group.alerts.length <= mostOfCause ? group.alerts.map(rowOf) : [rowOfGroup(group)],
  );
  const columns = [{ head: '' }, { head: 'since' }, { head: 'what' }, { head: 'why' }, { head: 'alert' }];
  return tableText(columns, rows, '', width);
}

function rowOf({ severity, state, kind, target, summary, openedAt, id }: AlertDocument): readonly string[] {
  const mark = state === 'open' ? severity : state;
  return [mark, minuteOf(openedAt), `${kind} ${target.id}`, summary, id.slice(0, 8)];
}

function rowOfGroup({ first, words }: AlertGroup): readonly string[] {
  const { severity, state, id, summary, openedAt } = first;
  const mark = state === 'open' ? severity : state;
  return [mark, minuteOf(openedAt), words, summary, `${id.slice(0, 8)} --group`];
}

function minuteOf(instant: string | null): string {
  return instant === null ? '' : instantText(Date.parse(instant)).slice(0, 'YYYY-MM-DD HH:mm'.length);
}

export function alertText(alert: ReturnType<typeof alertHistoryDocument>): string {
  const { id, kind, state, severity, target, job, summary, until, action, changes } = alert;
  const silence = state !== 'acknowledged' || until === null ? '' : `, silent until ${minuteOf(until)}`;
  const facts = [
    ['alert', id],
    ['state', `${state}${silence}`],
    ['severity', severity],
    [target.kind, target.id],
    ...(job === null ? [] : [['job', job]]),
  ];
  const past = changes.map(({ at, change, by, because }) => [
    minuteOf(at),
    change,
    because === null ? by : `${by}: ${because}`,
  ]);
  return [
    `${kind}: ${summary}`,
    '',
    tableText([{}, {}], facts, '  '),
    '',
    tableText([{}, {}, {}], past, '  '),
    ...(action === null ? [] : ['', adviceOf({ action }) ?? '']),
  ].join('\n');
}
