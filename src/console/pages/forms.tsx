/** Forms that change something: each carries the token of the page and a key, so that a form sent twice acts once. */
import type { ComponentChildren, JSX } from 'preact';

export interface FormKeys {
  /** Proves that the form is of this console (same origin); bound to the session. */
  readonly formToken: string;
  /** Made with the page: the Idempotency-Key of what the form starts. */
  readonly key: string;
}

interface FormProps {
  readonly action: string;
  readonly keys: FormKeys;
  readonly layout?: 'row' | 'stack';
  /** With a file. */
  readonly isUpload?: boolean;
  readonly children: ComponentChildren;
}

export function ActionForm({ action, keys, layout = 'row', isUpload = false, children }: FormProps): JSX.Element {
  const encoding = isUpload ? { encType: 'multipart/form-data' } : {};
  return (
    <form method="post" action={action} class={layout} {...encoding}>
      <input type="hidden" name="formToken" value={keys.formToken} />
      <input type="hidden" name="key" value={keys.key} />
      {children}
    </form>
  );
}

interface ButtonProps {
  readonly action: string;
  readonly keys: FormKeys;
  readonly label: string;
  readonly kind?: 'first' | 'danger';
  readonly fields?: Readonly<Record<string, string>>;
}

/** A button that acts at once. */
export function ActionButton({ action, keys, label, kind, fields = {} }: ButtonProps): JSX.Element {
  return (
    <ActionForm action={action} keys={keys}>
      {Object.entries(fields).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
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
