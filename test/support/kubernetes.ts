/** Checks Kubernetes manifests by the schemas that the API server publishes. */
import { validate as deployment } from 'kubernetes-models/_schemas/IoK8sApiAppsV1Deployment';
import { validate as cronJob } from 'kubernetes-models/_schemas/IoK8sApiBatchV1CronJob';
import { validate as namespace } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Namespace';
import { validate as networkPolicy } from 'kubernetes-models/_schemas/IoK8sApiNetworkingV1NetworkPolicy';
import { validate as disruptionBudget } from 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget';

/** A compiled schema, as the package does not declare it in full. */
interface Schema {
  (data: unknown): boolean;
  readonly errors?: ReadonlyArray<{ readonly instancePath: string; readonly keyword: string }> | null;
}

const schemas = new Map<string, Schema>([
  ['apps/v1 Deployment', deployment],
  ['batch/v1 CronJob', cronJob],
  ['v1 Namespace', namespace],
  ['networking.k8s.io/v1 NetworkPolicy', networkPolicy],
  ['policy/v1 PodDisruptionBudget', disruptionBudget],
]);

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

/** What the schema of its kind has against a manifest; fields that no schema knows, which it lets through, as well. */
export function manifestFaults(manifest: Manifest): readonly string[] {
  const kind = `${manifest.apiVersion} ${manifest.kind}`;
  const schema = schemas.get(kind);
  if (schema === undefined) return [`no schema of ${kind} is loaded here`];
  const read = new Set<string>();
  const isValid = schema(watched(manifest, '', read));
  const faults = isValid ? [] : (schema.errors ?? []).map(({ instancePath, keyword }) => `${instancePath}: ${keyword}`);
  const unknown = pathsOf(manifest, '').filter((path) => !read.has(path));
  return [...faults, ...unknown.map((path) => `${path} is not known`)];
}

/** A view that notes the path of each property which is read: a schema reads every one that it knows. */
function watched(value: unknown, path: string, read: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return new Proxy(value, {
    get(target, key) {
      const below = `${path}/${String(key)}`;
      read.add(below);
      return watched(Reflect.get(target, key), below, read);
    },
  });
}

function pathsOf(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [`${path}/${key}`, ...pathsOf(inner, `${path}/${key}`)]);
}
