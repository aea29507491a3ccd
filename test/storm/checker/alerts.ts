/** Alerts against what they are of ("Alerts" of docs/operating.md), and their messages against what the receiver got. */
import type { Evidence, TableRow, Violation } from '../evidence.ts';
import type { CheckRules } from './rules.ts';
import { groupedBy, msOf, numberOf, objectOf, rowsOf, textOf, violated } from './tables.ts';

export function checkAlerts(evidence: Evidence, rules: CheckRules): readonly Violation[] {
  const standing = rowsOf(evidence, 'alert').filter((row) => textOf(row, 'state') !== 'resolved');
  const ofKind = groupedBy(standing, (row) => textOf(row, 'kind'));
  return [
    ...violationsOfHolds(evidence, ofKind.get('rows-held') ?? []),
    ...violationsOfQuarantine(evidence, ofKind.get('record-quarantined') ?? []),
    ...violationsOfUnknown(evidence, ofKind.get('well-unknown') ?? []),
    ...violationsOfMessages(evidence, rules),
  ];
}

function aboutOf(row: TableRow) {
  return { alert: textOf(row, 'alert_id'), atMs: msOf(row, 'changed_at') };
}

/** `rows-held` stands as long as the rows are held, with their number. */
function violationsOfHolds(evidence: Evidence, alerts: readonly TableRow[]): readonly Violation[] {
  const months = rowsOf(evidence, 'held_month').map((row) => [`well ${textOf(row, 'uwi')}`, row] as const);
  const definitions = rowsOf(evidence, 'held_definition').map((row) => {
    const kind = textOf(row, 'kind');
    return [`${kind === 'well' ? 'source-well' : kind} ${textOf(row, 'target')}`, row] as const;
  });
  const holds = groupedBy([...months, ...definitions], ([target]) => target);
  const byTarget = new Map(alerts.map((row) => [`${textOf(row, 'target_kind')} ${textOf(row, 'target')}`, row]));
  return [...new Set([...holds.keys(), ...byTarget.keys()])].flatMap((target) => {
    const alert = byTarget.get(target);
    const held = holds.get(target) ?? [];
    if (alert === undefined) return [violated('storm', `${target} has held rows, and no alert of them`, { target })];
    if (held.length === 0) return [violated('storm', `the alert of held rows of ${target} has none`, aboutOf(alert))];
    const rows = held.reduce((sum, [, row]) => sum + (numberOf(row, 'rows_missing') ?? 0), 0);
    const said = objectOf(alert['detail'])['rows'];
    if (Number(said) === rows) return [];
    return [
      violated(
        'storm',
        `the alert of held rows of ${target} has ${String(said)}, and ${rows} are held`,
        aboutOf(alert),
      ),
    ];
  });
}

/** `record-quarantined` stands until the record comes right, leaves, or is accepted. */
function violationsOfQuarantine(evidence: Evidence, alerts: readonly TableRow[]): readonly Violation[] {
  const accepted = new Set(
    rowsOf(evidence, 'accepted_record').map((row) => `${textOf(row, 'uwi')} ${textOf(row, 'xid')}`),
  );
  const entries = groupedBy(rowsOf(evidence, 'quarantine'), (row) => textOf(row, 'uwi'));
  const targetsOf = (uwi: string): ReadonlySet<string> =>
    new Set((entries.get(uwi) ?? []).flatMap((row) => (textOf(row, 'xid') === '' ? [] : [targetOf(row)])));
  const byTarget = new Map(alerts.map((row) => [textOf(row, 'target'), row]));
  const without = [...entries].flatMap(([uwi, rows]) => {
    const nameless = rows.filter((row) => textOf(row, 'xid') === '');
    const targets = targetsOf(uwi);
    const missing = [...targets].filter((target) => !byTarget.has(target) && !accepted.has(target));
    const ofNameless = alerts.filter((row) => textOf(row, 'owner') === uwi && !targets.has(textOf(row, 'target')));
    const contents = new Set(nameless.map((row) => textOf(row, 'raw'))).size;
    const isMore = ofNameless.length > contents;
    const isLess = ofNameless.length < contents && !accepted.has(`${uwi} `);
    return [
      ...missing.map((target) =>
        violated('storm', `record ${target} is in quarantine, and no alert says so`, { target }),
      ),
      ...(isLess
        ? [violated('storm', `records of ${uwi} without an id are in quarantine, and no alert says so`, { uwi })]
        : []),
      ...(isMore ? [violated('storm', `${uwi} has an alert of a record that is not in quarantine`, { uwi })] : []),
    ];
  });
  const gone = alerts.filter((row) => !entries.has(textOf(row, 'owner')));
  return [
    ...without,
    ...gone.map((row) =>
      violated('storm', `the alert of ${textOf(row, 'target')} is of no record in quarantine`, aboutOf(row)),
    ),
  ];
}

function targetOf(row: TableRow): string {
  return `${textOf(row, 'uwi')} ${textOf(row, 'xid').toLowerCase()}`;
}

/** `well-unknown` is resolved when the service answers again. */
function violationsOfUnknown(evidence: Evidence, alerts: readonly TableRow[]): readonly Violation[] {
  const unknown = new Set(rowsOf(evidence, 'unknown_target').map((row) => textOf(row, 'target')));
  return alerts
    .filter((row) => !unknown.has(textOf(row, 'target')))
    .map((row) => violated('storm', `${textOf(row, 'target')} counts as unknown by an alert alone`, aboutOf(row)));
}

/** Kinds of which a message is sent at once while the warehouse cannot be written, so that no change has it. */
const kindsBesideRuns: readonly string[] = [
  'outage',
  'disk-low',
  'service-down',
  'no-worker',
  'schedule-missed',
  'requests-held',
  'feed-late',
];

/** What was sent has arrived, what arrived was sent, and nothing waits while the receiver is there. */
function violationsOfMessages(evidence: Evidence, { messageWaitMs }: CheckRules): readonly Violation[] {
  const changes = rowsOf(evidence, 'alert_change').filter((row) => textOf(row, 'message_id') !== '');
  const messages = groupedBy(changes, (row) => textOf(row, 'message_id'));
  const arrived = new Set(evidence.alerts.map(({ id }) => id));
  const lost = [...messages].flatMap(([id, rows]) => {
    const sentMs = rows.map((row) => msOf(row, 'sent_at')).find((atMs) => atMs !== undefined);
    const notedMs = Math.min(...rows.map((row) => msOf(row, 'noted_at') ?? Infinity));
    if (sentMs !== undefined) {
      return arrived.has(id)
        ? []
        : [violated('storm', `message ${id} counts as sent, and never arrived`, { atMs: sentMs })];
    }
    const waits = Math.max(notedMs, evidence.calmMs) + messageWaitMs < evidence.endedMs;
    return waits ? [violated('storm', `message ${id} was never sent`, { atMs: notedMs })] : [];
  });
  const unknown = evidence.alerts.filter(({ id, body }) => {
    return !messages.has(id) && !kindsBesideRuns.includes(String(objectOf(body)['kind']));
  });
  return [
    ...lost,
    ...unknown.map(({ id, atMs }) => violated('storm', `message ${id} arrived, and is of no alert`, { atMs })),
  ];
}
