/** Checks the rules and the dashboard of deploy/ by the grammar of PromQL: every metric that they name exists. */
import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { alertKinds } from '../../src/core/alerts/kinds.ts';
import { metrics } from '../../src/core/run/metrics.ts';

const partsOfHistograms = Object.entries(metrics)
  .filter(([, { type }]) => type === 'histogram')
  .flatMap(([name]) => [`${name}_bucket`, `${name}_sum`, `${name}_count`]);
/** Of prom-client, by process. */
const ofProcess = ['process_resident_memory_bytes'];
const known = [...Object.keys(metrics), ...partsOfHistograms, ...ofProcess];

/** The metrics that an expression names; an error of its grammar is a fault. */
function metricsIn(expression: string): readonly string[] {
  const named: string[] = [];
  parser.parse(expression).iterate({
    enter({ name, type, from, to }) {
      if (type.isError) throw new Error(`at ${from}: ${expression}`);
      if (name === 'VectorSelector') named.push(/^\w+/.exec(expression.slice(from, to))?.[0] ?? '');
    },
  });
  return named;
}

const rulesSchema = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^Wellsync[A-Za-z]+$/),
          expr: z.string(),
          for: z
            .string()
            .regex(/^\d+[mh]$/)
            .optional(),
          labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
          annotations: z.strictObject({ summary: z.string(), runbook: z.string() }),
        }),
      ),
    }),
  ),
});
const rules = rulesSchema
  .parse(parse(readFileSync('deploy/prometheus/alerts.yml', 'utf8')))
  .groups.flatMap((group) => group.rules);

const panelSchema = z.looseObject({
  title: z.string(),
  gridPos: z.strictObject({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z.array(z.looseObject({ expr: z.string() })).min(1),
});
const dashboard = z
  .looseObject({ uid: z.string(), schemaVersion: z.number(), panels: z.array(panelSchema) })
  .parse(JSON.parse(readFileSync('deploy/grafana/wellsync.json', 'utf8')));

test('a metric that does not exist, and an expression that is none, are seen', () => {
  expect(metricsIn('max(wellsync_run_total) > 1 or absent(up{job="x"})')).toEqual(['wellsync_run_total', 'up']);
  expect(() => metricsIn('max(wellsync_runs_total')).toThrow('wellsync_runs_total');
});

describe('deploy/prometheus', () => {
  test.each(rules)('$alert names metrics that exist', ({ expr }) => {
    const named = metricsIn(expr);
    expect(named).not.toEqual([]);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  test.each(rules)('$alert has its paragraph in the runbook', ({ alert, annotations: { runbook } }) => {
    const headings = [...readFileSync('docs/operating.md', 'utf8').matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
    expect(headings).toContain(alert);
    expect(runbook).toBe(`docs/operating.md#${alert.toLowerCase()}`);
  });

  test('scrapes with the labels of wellsync, whose job is not that of Prometheus', () => {
    const scrape: unknown = parse(readFileSync('deploy/prometheus/scrape.yml', 'utf8'));
    expect(scrape).toMatchObject({ scrape_configs: [{ job_name: 'wellsync', honor_labels: true }] });
  });
});

test.each(Object.keys(alertKinds))('an alert of the kind %s has its paragraph in the runbook', (kind) => {
  expect(readFileSync('docs/operating.md', 'utf8')).toContain(`\n### ${kind}\n\n`);
});

describe('deploy/grafana', () => {
  test.each(dashboard.panels)('the panel "$title" names metrics that exist', ({ targets }) => {
    for (const { expr } of targets) {
      expect(metricsIn(expr).filter((name) => !known.includes(name))).toEqual([]);
    }
  });

  test('shows every metric that says how the work goes', () => {
    const shown = dashboard.panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr)));
    const families = shown.map((name) => name.replace(/_(?:bucket|sum|count)$/, ''));
    const unseen = ['wellsync_shared_metrics_up', 'wellsync_build_info'];
    expect(Object.keys(metrics).filter((name) => !families.includes(name))).toEqual(unseen);
  });

  test('has no two panels in one place', () => {
    const taken = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(taken).size).toBe(taken.length);
  });
});
