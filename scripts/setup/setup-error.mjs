/** The end of a script: a sentence for the user when the cause is known, else the stack. */

/** A fault that the user has to correct; its message names the fault and the remedy. */
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
