/**
 * Names of an input's members in the messages of a face: `--from` on the command line. An absent member goes by its own
 * name.
 */
export type InputNames<Input> = Readonly<Partial<Record<keyof Input, string>>>;

/** The name of every member in the messages of a face. */
export function namesFor<Member extends string>(
  members: readonly Member[],
  given?: Readonly<Partial<Record<Member, string>>>,
): Readonly<Record<Member, string>> {
  const names = members.map((member) => [member, given?.[member] ?? member]);
  return Object.fromEntries(names) as Readonly<Record<Member, string>>;
}
