// Sends the runs of wellsync that have ended to a catalogue, as events of OpenLineage (https://openlineage.io/docs/spec).
// Needs Node alone. To be called now and then, by cron; each run is sent once, and again only if it was retried since.
//
//   WELLSYNC=http://127.0.0.1:8080 OPENLINEAGE_URL=http://marquez:5000 node send-runs.mjs /var/lib/wellsync/lineage.json
//
// WELLSYNC_TOKEN, OPENLINEAGE_API_KEY: tokens of the two, where they need one; OPENLINEAGE_ENDPOINT: api/v1/lineage by default;
// OPENLINEAGE_NAMESPACE: wellsync by default; DAYS: how far back runs are read, 7 by default. The file has what was sent.
//
// Exit codes: 0 all sent; 1 something did not answer, and what was not sent is sent by the next call; 2 wrong use.
// @ts-check
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

const { WELLSYNC, WELLSYNC_TOKEN, OPENLINEAGE_URL, OPENLINEAGE_API_KEY } = process.env;
const { OPENLINEAGE_ENDPOINT = 'api/v1/lineage', OPENLINEAGE_NAMESPACE = 'wellsync', DAYS = '7' } = process.env;
const stateFile = process.argv[2];
if (WELLSYNC === undefined || OPENLINEAGE_URL === undefined || stateFile === undefined) {
  console.error('set WELLSYNC and OPENLINEAGE_URL, and name the file of what was sent');
  process.exit(2);
}

const producer = 'https://wellsync.example/openlineage';
const spec = 'https://openlineage.io/spec';
/** Of version 5 ids: any fixed one, which no other program takes. */
const ownNamespace = '6f1d2c1e-0d0b-5b8f-9c55-3a1f0a4be0d7';

const endings = { done: 'COMPLETE', failed: 'FAIL', cancelled: 'ABORT', interrupted: 'ABORT' };
/** The tables that a job writes. */
const tables = {
  'export daily-production': 'daily_production',
  'export daily-production --gaps': 'daily_production',
  'export time-series': 'time_series',
  'export wells': 'well',
};

/**
 * @typedef {{ runId: string, job: string, service: string | null, warehouse: string, state: string, requestedAt: string,
 *   startedAt: string | null, finishedAt: string | null, retriedAt: string | null }} Run
 * @typedef {{ version: string | null, counts: Record<string, number>, balance?: { balanced: boolean, statement: string },
 *   stopped: { message: string } | null, failures: { message: string }[] }} Report
 * @typedef {{ server: string, type: string, host?: string, port?: number, database?: string, schema?: string }} Server
 * @typedef {{ name: string, properties: { name: string, logicalType: string, description: string }[] }} Table
 * @typedef {{ servers: Server[], schema: Table[] }} Contract
 */

/** @param {string} path @returns {Promise<unknown>} */
async function ask(path) {
  const headers = WELLSYNC_TOKEN === undefined ? {} : { authorization: `Bearer ${WELLSYNC_TOKEN}` };
  const answer = await fetch(new URL(path, WELLSYNC), { headers, signal: AbortSignal.timeout(30_000) });
  if (!answer.ok) throw new Error(`${path} is answered with ${answer.status}`);
  return answer.json();
}

/** @param {object} event */
async function send(event) {
  const key = OPENLINEAGE_API_KEY === undefined ? {} : { authorization: `Bearer ${OPENLINEAGE_API_KEY}` };
  const answer = await fetch(new URL(OPENLINEAGE_ENDPOINT, `${OPENLINEAGE_URL}/`), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...key },
    body: JSON.stringify(event),
    signal: AbortSignal.timeout(30_000),
  });
  if (!answer.ok) throw new Error(`the event is answered with ${answer.status}`);
}

/** The UUID of version 5 (RFC 9562 section 5.5) of a name. @param {string} name */
function idOf(name) {
  const namespace = Buffer.from(ownNamespace.replaceAll('-', ''), 'hex');
  const bytes = createHash('sha1').update(namespace).update(name).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** @param {string} name @param {object} content */
function facet(name, content) {
  const schema = `${spec}/facets/${name}.json#/$defs/${name.replace(/^.*\//, '')}`;
  return { _producer: producer, _schemaURL: schema, ...content };
}

/** Ended runs of the last days, the oldest first. */
async function endedRuns() {
  const sinceMs = Date.now() - Number(DAYS) * 86_400_000;
  /** @type {Run[]} */
  const found = [];
  /** @type {string | null} */
  let cursor = '';
  while (cursor !== null) {
    const answer = await ask(`/api/v1/runs?limit=100${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);
    const page = /** @type {{ runs: Run[], cursor: string | null }} */ (answer);
    found.push(...page.runs.filter(({ state, finishedAt }) => state in endings && finishedAt !== null));
    const oldest = page.runs.at(-1);
    cursor = oldest === undefined || Date.parse(oldest.requestedAt) < sinceMs ? null : page.cursor;
  }
  return found.filter(({ requestedAt }) => Date.parse(requestedAt) >= sinceMs).toReversed();
}

/** What a retry does is a run of its own. @param {Run} run */
function lineageIdOf({ warehouse, runId, retriedAt }) {
  return idOf(`${warehouse} ${runId} ${retriedAt ?? ''}`.trimEnd());
}

/** @param {Run} run @param {Report} report @param {Contract} contract */
function eventsOf(run, report, contract) {
  const table = tables[/** @type {keyof typeof tables} */ (run.job)];
  const isExport = table !== undefined;
  const base = {
    producer,
    schemaURL: `${spec}/2-0-2/OpenLineage.json#/$defs/RunEvent`,
    job: {
      namespace: OPENLINEAGE_NAMESPACE,
      name: run.job,
      facets: {
        jobType: facet('2-0-4/JobTypeJobFacet', { processingType: 'BATCH', integration: 'WELLSYNC', jobType: 'JOB' }),
      },
    },
    inputs: isExport ? [inputOf(run, report)] : [],
    outputs: isExport ? [outputOf(table, report, contract)] : [],
  };
  const facets = {
    nominalTime: facet('1-0-1/NominalTimeRunFacet', { nominalStartTime: run.requestedAt }),
    processing_engine: facet('1-1-1/ProcessingEngineRunFacet', { version: report.version ?? '0', name: 'wellsync' }),
  };
  const fault = report.stopped?.message ?? report.failures[0]?.message;
  const error = facet('1-0-1/ErrorMessageRunFacet', { message: fault ?? 'failed', programmingLanguage: 'JavaScript' });
  const runId = lineageIdOf(run);
  const eventType = endings[/** @type {keyof typeof endings} */ (run.state)];
  return [
    { ...base, eventType: 'START', eventTime: run.startedAt ?? run.requestedAt, run: { runId, facets } },
    {
      ...base,
      eventType,
      eventTime: run.finishedAt,
      run: { runId, facets: eventType === 'FAIL' ? { ...facets, errorMessage: error } : facets },
    },
  ];
}

/** What the service sent, and what of it deserves a look. @param {Run} run @param {Report} report */
function inputOf(run, report) {
  const none = (/** @type {string} */ name, /** @type {string} */ description) => ({
    assertion: 'custom',
    name,
    description,
    success: (report.counts[name] ?? 0) === 0,
    severity: 'warn',
    expected: '0',
    actual: String(report.counts[name] ?? 0),
  });
  const assertions = [
    {
      assertion: 'custom',
      name: 'reconciled',
      description: report.balance?.statement ?? 'every record is accounted for',
      success: report.balance?.balanced ?? false,
      severity: 'error',
    },
    none('quarantined', 'no record broke the contract of the service'),
    none('heldRows', 'the service has every row that it had'),
  ];
  return {
    namespace: run.service ?? 'unknown',
    name: run.job.replace(/^export /, '').replace(/ --gaps$/, ''),
    inputFacets: {
      dataQualityAssertions: facet('1-1-0/DataQualityAssertionsDatasetFacet', { assertions }),
    },
  };
}

/** @param {string} table @param {Report} report @param {Contract} contract */
function outputOf(table, { counts }, contract) {
  const server = contract.servers.find((each) => each.server === 'warehouse');
  const isServer = server?.type === 'postgres';
  const described = contract.schema.find(({ name }) => name === table);
  const fields = described?.properties.map(({ name, logicalType: type, description }) => ({ name, type, description }));
  return {
    namespace: isServer ? `postgres://${server.host}:${server.port}` : `duckdb:${server?.database}`,
    name: isServer ? `${server.database}.${server.schema}.${table}` : `${server?.schema}.${table}`,
    facets: { schema: facet('1-2-0/SchemaDatasetFacet', { fields: fields ?? [] }) },
    outputFacets: {
      outputStatistics: facet('1-0-2/OutputStatisticsOutputDatasetFacet', {
        rowCount: (counts.inserted ?? 0) + (counts.updated ?? 0),
      }),
    },
  };
}

/** @returns {string[]} */
function readSent() {
  try {
    return /** @type {string[]} */ (JSON.parse(readFileSync(String(stateFile), 'utf8')));
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return [];
    throw error;
  }
}

/** Whole, or as it was. @param {readonly string[]} sent */
function keepSent(sent) {
  writeFileSync(`${stateFile}.part`, JSON.stringify(sent));
  renameSync(`${stateFile}.part`, String(stateFile));
}

async function main() {
  const before = new Set(readSent());
  const contract = /** @type {Contract} */ (await ask('/api/v1/contract'));
  /** Those that are still read: the file does not grow. @type {string[]} */
  const kept = [];
  let count = 0;
  for (const run of await endedRuns()) {
    const id = lineageIdOf(run);
    if (!before.has(id)) {
      const report = /** @type {Report} */ (await ask(`/api/v1/runs/${encodeURIComponent(run.runId)}/report`));
      for (const event of eventsOf(run, report, contract)) await send(event);
      count += 1;
      // After each, so that a call that breaks off sends nothing twice.
      keepSent([...before, ...kept, id]);
    }
    kept.push(id);
  }
  keepSent(kept);
  console.log(`${count} runs sent`);
}

main().catch((/** @type {unknown} */ error) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
