/**
 * What a reader can do on a page. Every change goes through the HTTP API, which the script of the page asks with the key of
 * the page as Idempotency-Key: a click that comes twice does one thing (docs/design.md section 11).
 */
import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext } from 'preact/hooks';
import { mayActAs, type Role } from '../../core/base/action.ts';
import type { ReadsOfPage } from '../../app/warehouse/last-known.ts';
import { awayText } from '../problem.ts';

/** Who reads one delivery of a page. */
export interface Reader {
  readonly role: Role;
  /** Of the delivery: its forms send it. */
  readonly pageKey: string;
}

/** Whether the reader's role lets a form act that needs this one: what it may not do, no page offers. */
export function mayAct({ role }: Reader, needs: Role = 'operate'): boolean {
  return mayActAs(role, needs);
}

interface FormProps {
  /** Method and path of the API: `POST /api/v1/runs`. */
  readonly asks: string;
  readonly reader: Reader;
  /** The role that the API asks for this; by default operate. A reader without it sees no form. */
  readonly needs?: Role | undefined;
  /** Members of the body beside the fields. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Of the command that does the same, where it is another one than `body`. */
  readonly commandBody?: Readonly<Record<string, unknown>> | undefined;
  /** The page to go on to; by default that of the run which was started, else this one. */
  readonly then?: string;
  readonly layout?: 'row' | 'stack';
  readonly children: ComponentChildren;
}

export function ActionForm(props: FormProps): JSX.Element | null {
  const { asks, reader, needs, body = {}, commandBody = body, then, layout = 'row', children } = props;
  if (!mayAct(reader, needs)) return null;
  const command = commandOf(asks, commandBody);
  return (
    <form
      class={layout}
      method="post"
      data-asks={asks}
      data-key={reader.pageKey}
      data-body={JSON.stringify(body)}
      {...(then === undefined ? {} : { 'data-then': then })}
    >
      <Acts>{children}</Acts>
      <output class="form-state" />
      <noscript>{command === undefined ? 'This button needs JavaScript.' : <Command text={command} />}</noscript>
    </form>
  );
}

/** What acts: not while the warehouse is away, which the frame says. */
export function Acts({ children }: Pick<FormProps, 'children'>): JSX.Element {
  const { away } = useContext(Delivery);
  if (away === '') return <>{children}</>;
  return (
    <fieldset class="acts" disabled>
      {children}
    </fieldset>
  );
}

/** A command to copy. */
export function Command({ text }: { readonly text: string }): JSX.Element {
  return <code class="command">{text}</code>;
}

/** What the command line has for a request; undefined where a request has no command of its own. */
function commandOf(asks: string, body: FormProps['body'] = {}): string | undefined {
  const [, subject = '', id = '', verb = ''] = asks
    .replace(/^POST \/api\/v1/, '')
    .split('/')
    .map(decodeURIComponent);
  switch (subject) {
    case 'runs':
      return id === '' ? exportCommand(body) : `wellsync runs ${verb} ${quoted(id)}`;
    case 'schedules':
      return verb === '' ? `wellsync schedules ${id}` : `wellsync schedules ${verb} ${quoted(id)}`;
    case 'plans':
      return verb === 'apply' ? `wellsync cleanup --apply ${quoted(id)}` : 'wellsync cleanup --file targets.csv';
    case 'pushes':
      return `wellsync push network-pipes FILE${typeof body['corrects'] === 'string' ? ` --corrects ${quoted(body['corrects'])}` : ''}`;
    case 'alerts':
      return `wellsync alerts ${id === 'acknowledge' ? 'ack' : id} ${listOf(body['ids']).join(' ')}${body['withGroups'] === true ? ' --group' : ''} --because TEXT`;
    case 'service':
      return `wellsync service ${id}`;
    default:
      return undefined;
  }
}

/** Undefined where the request names its wells by what no command takes. */
function exportCommand(body: NonNullable<FormProps['body']>): string | undefined {
  if (body['likeAlert'] !== undefined) return undefined;
  const name = typeof body['export'] === 'string' ? body['export'] : 'daily-production';
  const wells = listOf(body['uwis']).map((uwi) => ` --uwi ${quoted(uwi)}`);
  const flags = [
    ...(body['fromWarehouse'] === true ? [' --from-warehouse'] : []),
    ...(body['gaps'] === true ? [' --gaps'] : []),
    ...(['from', 'to'] as const).flatMap((each) =>
      typeof body[each] === 'string' ? [` --${each} ${body[each]}`] : [],
    ),
  ];
  return `wellsync export ${name}${wells.length > mostInCommand ? ' --wells FILE' : wells.join('')}${flags.join('')}`;
}

/** Names in one command. */
const mostInCommand = 5;

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** As a shell takes one word. */
function quoted(word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

interface ButtonProps {
  readonly asks: string;
  readonly reader: Reader;
  readonly needs?: Role | undefined;
  readonly label: string;
  readonly kind?: 'first' | 'danger';
  readonly body?: Readonly<Record<string, unknown>>;
  readonly commandBody?: Readonly<Record<string, unknown>>;
  readonly then?: string;
}

/** A button that acts at once. */
export function ActionButton({ label, kind, ...form }: ButtonProps): JSX.Element {
  return (
    <ActionForm {...form}>
      <button type="submit" class={kind}>
        {label}
      </button>
    </ActionForm>
  );
}

interface FieldProps {
  readonly label: string;
  readonly children: ComponentChildren;
}

export function Field({ label, children }: FieldProps): JSX.Element {
  return (
    <label class="field">
      {label}
      {children}
    </label>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly choices: ReadonlyArray<readonly [value: string, text: string]>;
}

export function Choice({ label, name, value, choices }: ChoiceProps): JSX.Element {
  return (
    <Field label={label}>
      <select name={name}>
        {choices.map(([each, text]) => (
          <option key={each} value={each} selected={each === value}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
}

// How old what a page shows is, and what keeps it from being renewed: for its frame and its forms.

export interface Delivered {
  /** When its data were read. */
  readonly asOfMs: number;
  /** Why it is not of now, and what to do about it: the warehouse is away. Empty for a page of now. */
  readonly away: string;
}

export const Delivery = createContext<Delivered>({ asOfMs: 0, away: '' });

export function deliveredNow(): Delivered {
  return { asOfMs: Date.now(), away: '' };
}

export function deliveredOf({ asOfMs, fault }: ReadsOfPage): Delivered {
  return { asOfMs, away: fault === undefined ? '' : awayText(fault) };
}
