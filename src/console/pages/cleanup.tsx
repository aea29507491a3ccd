/** Cleanups: plans, their warnings, and the typed confirmation without which nothing is deleted (G6). */
import type { JSX } from 'preact';
import { z } from 'zod';
import {
  type Fates,
  fatesOf,
  listPlans,
  type ShownPlanDocument,
  showPlan,
  withWarnings,
} from '../../app/cleanups/plan.ts';
import {
  isRefused,
  type PlanDocument,
  planDocument,
  refusedTargets,
  sightingText,
} from '../../app/cleanups/plan-document.ts';
import { counted, figure } from '../../core/base/text.ts';
import { RequestProblem } from '../problem.ts';
import { ActionForm, Choice, Field, mayAct, type Reader } from './forms.tsx';
import { type Frame, Page } from './frame.tsx';
import { Empty, Facts, Figures, Name, Panel, Person, Remark, RunLink, State, Table, Time } from './parts.tsx';
import type { Pages } from './routes.tsx';

export function addCleanupPages(pages: Pages): void {
  const { app } = pages.context;
  const { cleanupPlans } = app.ledger;
  pages.add({
    url: '/cleanup',
    page: async ({ frame, reader, caller }) => {
      const { value } = await reader.read(['plans'], () => listPlans(cleanupPlans, { limit: 50 }));
      const plans = value.plans.map((plan) => planDocument({ plan, warned: [] }));
      return <CleanupPage frame={frame} plans={plans} reader={caller} />;
    },
  });
  pages.add({
    url: '/cleanup/:planId',
    params: z.object({ planId: z.string().max(60) }),
    page: async ({ frame, reader, caller, nowMs }, { params: { planId } }) => {
      const { value } = await reader.read(['plan page', planId], async () => {
        const found = await cleanupPlans.read(planId);
        if (found === undefined) return undefined;
        const plan = await showPlan(await withWarnings(found, cleanupPlans), app, nowMs);
        return { plan, fates: await fatesOf(app, plan) };
      });
      if (value === undefined) throw new RequestProblem(404, 'no-such-plan', `there is no plan ${planId}`);
      return <PlanPage frame={frame} {...value} reader={caller} />;
    },
  });
}

interface CleanupProps {
  readonly frame: Frame;
  /** The newest first. */
  readonly plans: readonly PlanDocument[];
  readonly reader: Reader;
}

function CleanupPage({ frame, plans, reader }: CleanupProps): JSX.Element {
  return (
    <Page {...frame} title="Cleanup" section="Cleanup">
      <h1>Cleanup</h1>
      {!mayAct(reader) ? null : (
        <Panel title="A new plan">
          <p class="muted">
            A plan reads what the service has of each target. Nothing is deleted before somebody with the role delete
            has typed the number of targets.
          </p>
          <div class="columns">
            <ActionForm asks="POST /api/v1/plans/file" reader={reader} layout="stack" then="/cleanup/{planId}">
              <h3>From a file of targets</h3>
              <Field label="Targets, a CSV file">
                <input type="file" name="file" accept=".csv,text/csv" required />
              </Field>
              <p class="muted small">
                Its first line names the columns: <code>kind,well,equipment,source_id</code>.
              </p>
              <Producing />
              <button type="submit" class="first">
                Make a plan of the file
              </button>
            </ActionForm>
            <ActionForm asks="POST /api/v1/plans" reader={reader} layout="stack" then="/cleanup/{planId}">
              <h3>Of one target</h3>
              <div class="actions of-kind">
                <Choice
                  label="Kind"
                  name="targets.0.kind"
                  value="wellbores"
                  choices={[
                    ['wellbores', 'wellbores'],
                    ['micro-strings', 'micro strings'],
                    ['time-series', 'time series'],
                  ]}
                />
                <div class="of-wells">
                  <Field label="Well">
                    <input name="targets.0.well" required autocomplete="off" />
                  </Field>
                </div>
                <div class="of-series">
                  <Field label="Equipment">
                    <input name="targets.0.equipment" autocomplete="off" />
                  </Field>
                </div>
                <div class="of-series">
                  <Field label="Source id">
                    <input name="targets.0.sourceId" autocomplete="off" />
                  </Field>
                </div>
              </div>
              <Producing />
              <button type="submit">Make a plan</button>
            </ActionForm>
          </div>
        </Panel>
      )}
      <Panel title="Plans">
        {plans.length === 0 ? (
          <Empty title="No plan yet" />
        ) : (
          <Table
            caption="Plans, the newest first"
            columns={[
              { title: 'Plan' },
              { title: 'State' },
              { title: 'Made' },
              { title: 'Targets', isNumber: true },
              { title: 'By', isWideOnly: true },
            ]}
            rows={plans.map((plan) => ({
              key: plan.planId,
              cells: [
                <a class="id" href={`/cleanup/${encodeURIComponent(plan.planId)}`}>
                  {plan.planId}
                </a>,
                <PlanStateMark plan={plan} />,
                <Time at={plan.createdAt} />,
                figure(plan.counts.targets),
                <Person name={plan.createdBy} />,
              ],
            }))}
          />
        )}
      </Panel>
    </Page>
  );
}

function Producing(): JSX.Element {
  return (
    <label class="check">
      <input type="checkbox" name="includeProducing" data-type="boolean" value="true" /> Delete also what is of a well
      that still produces
    </label>
  );
}

function PlanStateMark({ plan: { state }, isBadge = false }: { plan: PlanDocument; isBadge?: boolean }): JSX.Element {
  return <State tone={state === 'applied' ? 'good' : 'idle'} label={state} isBadge={isBadge} />;
}

interface PlanProps {
  readonly frame: Frame;
  readonly plan: ShownPlanDocument;
  readonly fates: Fates;
  readonly reader: Reader;
}

/** How many targets a plan deletes: those that it refuses are counted apart. */
function mostDeleted(plan: ShownPlanDocument): string {
  const { targets } = plan.counts;
  const refused = refusedTargets(plan);
  return `${refused === 0 ? '' : `at most ${figure(targets - refused)} of `}${counted(targets, 'target')}`;
}

function PlanPage({ frame, plan, fates, reader }: PlanProps): JSX.Element {
  const { counts, targets, remarks, warnings } = plan;
  const isApplied = plan.state === 'applied';
  const refused = refusedTargets(plan);
  const whatBecomes = isApplied ? 'What became of it' : 'What becomes of it';
  return (
    <Page {...frame} title={`Plan ${plan.planId}`} section="Cleanup">
      <div class="title">
        <h1>{isApplied ? `Cleanup of ${counted(counts.targets, 'target')}` : `Delete ${mostDeleted(plan)}`}</h1>
        <PlanStateMark plan={plan} isBadge />
      </div>
      <Apply plan={plan} reader={reader} />
      <Panel
        title="Targets by kind"
        aside={
          refused === 0 || isApplied ? null : (
            <span class="small muted">with {counted(refused, 'target that is', 'targets that are')} refused</span>
          )
        }
      >
        <Figures
          figures={[
            {
              name: 'time series',
              value: counts.timeSeries,
              remark: `of ${counted(counts.equipment, 'equipment id')}`,
            },
            { name: 'micro strings', value: counts.microStrings, remark: 'all of each well' },
            { name: 'wellbores', value: counts.wellbores, remark: 'all of each well' },
            { name: 'wells', value: counts.wells, remark: `of ${figure(counts.knownWells)} in the warehouse` },
          ]}
        />
        <p class="muted">{plan.consequences.join(' ')}</p>
      </Panel>
      {remarks.length === 0 ? null : (
        <Remark tone="warn" title="Warnings">
          <ul class="list">
            {remarks.map((remark) => (
              <li key={remark}>{remark}</li>
            ))}
          </ul>
        </Remark>
      )}
      {warnings.length === 0 ? null : (
        <Panel title="Targets that deserve a look">
          <Table
            caption="Targets with a warning"
            columns={[
              { title: 'Target' },
              { title: 'At the service' },
              { title: 'Produced on' },
              { title: whatBecomes },
            ]}
            rows={warnings.map((target) => ({
              key: String(target.ordinal),
              cells: [
                <Name>{target.text}</Name>,
                sightingText(target),
                target.producedOn ?? '',
                <Fate target={target} plan={plan} fates={fates} />,
              ],
            }))}
          />
        </Panel>
      )}
      <Panel
        title="Targets"
        aside={
          <span class="small muted">
            {targets.length < counts.targets
              ? `the first ${figure(targets.length)} of ${figure(counts.targets)}`
              : 'all of them'}
          </span>
        }
      >
        <Table
          caption="Targets in the order of their deletion"
          columns={[{ title: 'Target' }, { title: 'At the service' }, { title: whatBecomes }]}
          rows={targets.map((target) => ({
            key: String(target.ordinal),
            cells: [
              <Name>{target.text}</Name>,
              sightingText(target),
              <Fate target={target} plan={plan} fates={fates} />,
            ],
          }))}
        />
        {targets.length < counts.targets ? (
          <p class="muted">
            All of them: <code>wellsync cleanup show {plan.planId}</code>
          </p>
        ) : null}
      </Panel>
      <Panel title="About this plan">
        <Facts
          facts={[
            ['Plan', <code>{plan.planId}</code>],
            ['Service', <Name>{plan.serviceUrl}</Name>],
            ['Wells that produce', plan.includesProducing ? 'are deleted as well' : 'are left out'],
            ['Made', [<Time at={plan.createdAt} />, ' by ', <Person name={plan.createdBy} />]],
            ...(plan.selection === null ? [] : [['Selection', <Name>{plan.selection}</Name>] as const]),
          ]}
        />
      </Panel>
    </Page>
  );
}

interface FateProps extends Pick<PlanProps, 'plan' | 'fates'> {
  readonly target: ShownPlanDocument['targets'][number];
}

function Fate({ target, plan, fates }: FateProps): JSX.Element {
  if (plan.applied !== null) return <span>{fates.get(target.text) ?? 'not done yet'}</span>;
  return isRefused(target, plan) ? <State tone="warn" label="refused" /> : <span>to be deleted</span>;
}

function Apply({ plan, reader }: Pick<PlanProps, 'plan' | 'reader'>): JSX.Element {
  const { applied, state, refusal, counts, planId } = plan;
  if (applied !== null && state === 'applied') {
    return (
      <Remark tone="good" title="Applied">
        <p>
          By <Person name={applied.by} /> at <Time at={applied.at} />, in run <RunLink runId={applied.runId} />.
        </p>
      </Remark>
    );
  }
  if (refusal !== null) {
    return (
      <Remark tone="bad" title="This plan cannot be applied">
        <p>{refusal}</p>
        {applied !== null && (
          <p>
            <RunLink runId={applied.runId} />
          </p>
        )}
      </Remark>
    );
  }
  if (!mayAct(reader, 'delete')) {
    return (
      <Remark tone="idle" title="Your role may not delete">
        <p>Somebody with the role delete can apply this plan here.</p>
      </Remark>
    );
  }
  return (
    <Panel title="Delete them">
      <p>A deletion cannot be undone at the service. Type the number of targets to confirm.</p>
      <ActionForm asks={`POST /api/v1/plans/${encodeURIComponent(planId)}/apply`} reader={reader} needs="delete">
        <Field label={`Number of targets (${figure(counts.targets)})`}>
          <input name="targets" data-type="number" inputMode="numeric" pattern="[0-9]+" required autocomplete="off" />
        </Field>
        <button type="submit" class="danger">
          Delete {mostDeleted(plan)}
        </button>
      </ActionForm>
    </Panel>
  );
}
