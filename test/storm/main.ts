/** Plays one storm and judges it, or judges again what one left; `npm run storm` says how to call it. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { judge } from './checker/check.ts';
import { type Figures, figures, summary } from './checker/figures.ts';
import { near } from './checker/near.ts';
import type { Evidence } from './evidence.ts';
import { planOf } from './plan.ts';
import { stormLack } from './servers.ts';
import { storm } from './storm.ts';

const usage =
  'usage: npm run storm -- --seed N --minutes M --warehouse duckdb|postgres --queue embedded|redis, or --evidence FILE, or --summary FOLDER';

function refuse(): never {
  console.error(usage);
  process.exit(2);
}

function chosen<const T extends string>(given: string | undefined, choices: readonly T[]): T {
  return choices.find((each) => each === given) ?? refuse();
}

const { values } = parsed({
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string', default: '4' },
    warehouse: { type: 'string' },
    queue: { type: 'string' },
    evidence: { type: 'string' },
    summary: { type: 'string' },
    out: { type: 'string', default: '.storm' },
  },
});

function parsed<const Config extends ParseArgsConfig>(config: Config): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch {
    return refuse();
  }
}

async function played(): Promise<Evidence> {
  const seed = Number(values.seed);
  const minutes = Number(values.minutes);
  if (!Number.isInteger(seed) || !(minutes > 0)) refuse();
  const combination = {
    warehouse: chosen(values.warehouse, ['duckdb', 'postgres']),
    queue: chosen(values.queue, ['embedded', 'redis']),
  };
  const lack = stormLack(combination);
  if (lack !== undefined) throw new Error(lack);
  const plan = planOf(seed, minutes, combination);
  console.log(`storm ${seed}: ${plan.events.length} events in ${minutes} min, ${plan.warehouse}, ${plan.queue}`);
  return storm(plan, (line) => console.log(line));
}

function readEvidence(file: string): Evidence {
  return JSON.parse(readFileSync(file, 'utf8')) as Evidence;
}

async function judgeOne(): Promise<void> {
  const evidence = values.evidence === undefined ? await played() : readEvidence(values.evidence);
  const { seed, minutes: length, warehouse, queue } = evidence;
  if (values.evidence === undefined) {
    mkdirSync(values.out, { recursive: true });
    const name = `${seed}-${warehouse}-${queue}`;
    const file = path.join(values.out, `${name}.evidence.json`);
    writeFileSync(file, JSON.stringify(evidence));
    console.log(`what it left: ${file}`);
  }
  const { violations, compared } = judge(evidence);
  console.log(JSON.stringify(figures(evidence, compared), null, 2));
  for (const violation of violations) {
    console.log(`\n${violation.guarantee}: ${violation.what}`);
    if (violation.detail !== undefined) console.log(`  ${JSON.stringify(violation.detail)}`);
    for (const line of near(evidence, violation)) console.log(`  ${line}`);
  }
  console.log(
    violations.length === 0
      ? `storm ${seed}: no violation`
      : `storm ${seed}: ${violations.length} violations; again: npm run storm -- --seed ${seed} --minutes ${length} --warehouse ${warehouse} --queue ${queue}`,
  );
  process.exitCode = violations.length === 0 ? 0 : 1;
}

/** Judges all storms whose evidence lies in a folder, and adds up their figures. */
function sumUp(folder: string): void {
  const storms: Figures[] = [];
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.evidence.json'))) {
    const evidence = readEvidence(path.join(folder, name));
    const { violations, compared } = judge(evidence);
    console.log(`storm ${evidence.seed}, ${evidence.warehouse}, ${evidence.queue}: ${violations.length} violations`);
    storms.push(figures(evidence, compared));
  }
  console.log(JSON.stringify(summary(storms), null, 2));
}

if (values.summary === undefined) await judgeOne();
else sumUp(values.summary);
