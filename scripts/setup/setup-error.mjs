/** Owns the way a script ends: with a sentence for the person at the keyboard where the reason is known, else with the stack. */

/** Something that the person has to mend; its message says what and how. */
export class SetupError extends Error {
  /** @override */
  name = 'SetupError';
}

/**
 * Runs a script's main function and sets the exit code to what it returns.
 * @param {() => Promise<number>} main
 */
export async function runScript(main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    console.error(error instanceof SetupError ? `\n${error.message}` : error);
    process.exitCode = 1;
  }
}
