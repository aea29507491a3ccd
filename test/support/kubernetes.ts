/** Checks Kubernetes manifests by the schemas that the API server publishes. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** A compiled schema, as the package does not declare it. */
interface Schema {
  (data: unknown): boolean;
  readonly errors?: ReadonlyArray<{ readonly instancePath: string; readonly keyword: string }> | null;
}

const require = createRequire(import.meta.url);
const folder = join(dirname(require.resolve('kubernetes-models')), '_schemas');

/** By its file: the package exports classes alone, and those drop a field that they do not know. */
function schemaOf(name: string): Schema {
  return (require(join(folder, `${name}.js`)) as { readonly validate: Schema }).validate;
}

const schemas = new Map<string, Schema>([
  ['apps/v1 Deployment', schemaOf('IoK8sApiAppsV1Deployment')],
  ['batch/v1 CronJob', schemaOf('IoK8sApiBatchV1CronJob')],
  ['v1 Namespace', schemaOf('IoK8sApiCoreV1Namespace')],
  ['networking.k8s.io/v1 NetworkPolicy', schemaOf('IoK8sApiNetworkingV1NetworkPolicy')],
  ['policy/v1 PodDisruptionBudget', schemaOf('IoK8sApiPolicyV1PodDisruptionBudget')],
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
