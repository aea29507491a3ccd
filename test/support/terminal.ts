/** A command at a terminal of its own, which script(1) makes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';

/** Why there can be no terminal; undefined if there can. */
export function terminalLack(): string | undefined {
  return existsSync('/usr/bin/script') ? undefined : 'no script(1) to make a terminal';
}

export interface AtTerminal {
  /** Resolves with all output so far once it matches; rejects if the command ends before. */
  shows(pattern: RegExp): Promise<string>;
  type(keys: string): void;
  /** Resolves with all output, whose last line is `ended CODE`, once the terminal is gone. */
  ended(): Promise<string>;
}

/**
 * Starts a command line of the shell. The terminal has 97 columns and LF as the end of a line. It does not show what is
 * typed, which would come anywhere in the output of a busy machine.
 *
 * script(1) reads for 10 ms after the end of its command, and drops what comes later. The shell therefore says how the
 * command ended and waits until that has been read here.
 */
export function startAtTerminal(command: string): AtTerminal {
  const settings = 'stty cols 97 -echo -onlcr noflsh';
  // A trap keeps the shell through Ctrl-C, and has no effect on the command.
  const line = `${settings}; trap : INT; ${command}; echo "ended $?"; read -r seen`;
  const running = spawn('script', ['-qec', line, '/dev/null'], { detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(running, 'close');
  let output = '';
  running.stdout.setEncoding('utf8').on('data', (part: string) => (output += part));
  const shows = async (pattern: RegExp): Promise<string> => {
    while (!pattern.test(output)) {
      const isOver = await Promise.race([once(running.stdout, 'data').then(() => false), closed.then(() => true)]);
      if (isOver && !pattern.test(output)) throw new Error(`it ended without ${String(pattern)}: ${output}`);
    }
    return output;
  };
  return {
    shows,
    type: (keys) => void running.stdin.write(keys),
    async ended() {
      await shows(/^ended \d+\n/m);
      running.stdin.end('\n');
      await closed;
      return output;
    },
  };
}
