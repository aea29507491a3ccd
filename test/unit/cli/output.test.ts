/** What foreign text may do to a terminal: nothing. */
import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { Output } from '../../../src/cli/output.ts';
import { printable, printableLines } from '../../../src/core/base/text.ts';

const csi = '\u009B31m';

class Outlet extends Writable {
  text = '';
  readonly isTTY: boolean;

  constructor(isTTY: boolean) {
    super();
    this.isTTY = isTTY;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}

function outputs(isTTY: boolean): { readonly stdout: Outlet; readonly stderr: Outlet; readonly output: Output } {
  const [stdout, stderr] = [new Outlet(isTTY), new Outlet(isTTY)];
  return { stdout, stderr, output: new Output({ stdout, stderr, json: false, quiet: false }) };
}

test('every control character is made visible, C1 and the turning of text included', () => {
  const foreign = '\u0000\t\n\r\u001B[2J\u007F\u0085\u009B\u2028\u202E\u2066é✓';
  const seen = String.raw`\u0000\t\n\r\u001b[2J\u007f\u0085\u009b\u2028\u202e\u2066é✓`;
  expect(printable(foreign)).toBe(seen);
});

test('a text of several lines keeps its lines, tabs and colours, and nothing else of the kind', () => {
  const red = '\u001B[31mfailed\u001B[0m';
  expect(printableLines(`${red}\n\tone\u001B[2J${csi}\r`)).toBe(`${red}\n\tone${String.raw`\u001b[2J\u009b31m\r`}`);
});

describe('the output of a command', () => {
  test('shows controls of a result, a remark and a fault as text, at a terminal and elsewhere', async () => {
    for (const isTTY of [true, false]) {
      const { stdout, stderr, output } = outputs(isTTY);
      await output.print(`result ${csi}`);
      output.say(`remark ${csi}`);
      output.writeError(`fault ${csi}`);
      expect(stdout.text).toBe(String.raw`result \u009b31m` + '\n');
      expect(stderr.text).toBe(String.raw`remark \u009b31m` + '\n' + String.raw`fault \u009b31m` + '\n');
    }
  });

  test('leaves data as it is for a file, and not for a terminal', async () => {
    const [terminal, file] = [outputs(true), outputs(false)];
    for (const { output } of [terminal, file]) await output.document({ reason: csi });
    expect(file.stdout.text).toBe(`{"reason":"${csi}"}\n`);
    expect(terminal.stdout.text).toBe(String.raw`{"reason":"\u009b31m"}` + '\n');
  });
});
