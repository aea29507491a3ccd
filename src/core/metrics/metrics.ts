/** The metrics of wellsync, by name (docs/design.md section 11). A test holds rules and dashboard of deploy/ to them. */

interface Plain {
  readonly type: 'counter' | 'gauge';
  readonly help: string;
}

interface Histogram {
  readonly type: 'histogram';
  readonly help: string;
  /** Upper bounds of its buckets, in its unit, ascending. */
  readonly buckets: readonly number[];
}

export const metrics = {
  wellsync_runs_total: { type: 'counter', help: 'Runs that ended, by job and state; a retry ends again.' },
  wellsync_run_seconds: {
    type: 'histogram',
    help: 'Seconds from the start of a run to its end, by job.',
    buckets: [10, 30, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800],
  },
  wellsync_rows_total: { type: 'counter', help: 'What the records of ended runs came to, by job and outcome.' },
  wellsync_requests_total: { type: 'counter', help: 'Requests to the service, by endpoint and outcome.' },
  wellsync_request_seconds: {
    type: 'histogram',
    help: 'Seconds from the sending of a request to the last byte of its answer, by endpoint.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  },
  wellsync_queue_items: { type: 'gauge', help: 'Items in Redis, by queue and state.' },
  wellsync_workers: { type: 'gauge', help: 'Connected workers over all hosts, by queue.' },
  wellsync_watermark_lag_seconds: {
    type: 'gauge',
    help: 'Seconds since the watermark of wells: half, nine tenths and 99 hundredths of them lag no more.',
  },
  wellsync_stale_wells: { type: 'gauge', help: 'Wells without a new day for freshness.warnAfterDays.' },
  wellsync_service_hold_seconds: {
    type: 'gauge',
    help: 'Seconds until the service takes requests again; 0 if it does.',
  },
  wellsync_last_success_timestamp_seconds: { type: 'gauge', help: 'When a run of a job last ended as done.' },
  wellsync_shared_metrics_up: { type: 'gauge', help: 'Whether the metrics of all processes could be read from Redis.' },
  wellsync_build_info: { type: 'gauge', help: 'Always 1, with the version of this process.' },
} as const satisfies Readonly<Record<string, Plain | Histogram>>;

export type MetricName = keyof typeof metrics;

type NameOf<Type> = { [Name in MetricName]: (typeof metrics)[Name]['type'] extends Type ? Name : never }[MetricName];
export type CounterName = NameOf<'counter'>;
export type HistogramName = NameOf<'histogram'>;
