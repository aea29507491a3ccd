/** Parses the instructions of a Dockerfile by stage, as far as the tests need. */

export interface Instruction {
  /** In upper case: COPY. */
  readonly name: string;
  readonly flags: readonly string[];
  /** The text after name and flags, on one line. */
  readonly rest: string;
}

export interface Stage {
  readonly image: string;
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

function instructionOf(line: string): Instruction {
  const [name = '', ...words] = line.trim().split(/\s+/);
  const flagCount = words.findIndex((word) => !word.startsWith('--'));
  return { name: name.toUpperCase(), flags: words.slice(0, flagCount), rest: words.slice(flagCount).join(' ') };
}

/** The stages in order; the last one is the image. */
export function stagesOf(dockerfile: string): readonly Stage[] {
  const lines = dockerfile
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages: Array<Stage & { instructions: Instruction[] }> = [];
  for (const instruction of lines.map(instructionOf)) {
    const [image = '', , name] = instruction.rest.split(' ');
    if (instruction.name === 'FROM') stages.push({ image, name, instructions: [] });
    else stages.at(-1)?.instructions.push(instruction);
  }
  return stages;
}
