import type { Config } from '../../../config/schema.ts';
import { createApp, type App, type AppOptions } from '../../app/app.ts';
import type { Output } from '../output.ts';

/** For a command that only reads the warehouse. Throws UnreachableError if no warehouse exists, and creates none. */
export function openApp(config: Config, output: Output, options: AppOptions = {}): App {
  const app = appFor(config, output, options);
  app.warehouse.requireStored();
  return app;
}

/** For any other command. Reports a wait for the warehouse on standard error. */
export function appFor(config: Config, output: Output, options: AppOptions = {}): App {
  const say = (message: string): void => output.say(message);
  return createApp(config, { ...options, ...attendanceOf(output), onWait: say, onMigrated: say });
}

/** Whether an operator sees what the process says, and how it says it. */
export function attendanceOf(output: Output): Pick<AppOptions, 'isAttended' | 'tell'> {
  return { isAttended: output.stderr.isTTY === true, tell: (message) => output.tell(message) };
}
