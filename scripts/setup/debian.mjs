/** Programs from Debian's packages, for whoever may install them. */
import { existsSync } from 'node:fs';
import { runLeashed } from './leash.mjs';

/** Whether this process may install packages: root, on Debian. */
export function mayInstall() {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version') && existsSync('/usr/bin/apt-get');
}

/**
 * Installs only the program: SYSTEMD_OFFLINE and RUNLEVEL keep the package from starting a service. Returns the step that
 * failed, whose words stand on the terminal; undefined when the package is there.
 *
 * @param {string} name
 * @returns {Promise<'update' | 'install' | undefined>}
 */
export async function installPackage(name) {
  console.log(`Installing ${name} (apt-get), since none is here and this is root on Debian …`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', SYSTEMD_OFFLINE: '1', RUNLEVEL: '1' };
  const updated = await runLeashed('apt-get', ['-qq', 'update'], { env });
  const install = ['-qq', '-y', '--no-install-recommends', '-o', 'Dpkg::Use-Pty=0', 'install', name];
  if ((await runLeashed('apt-get', install, { env })) === 0) return undefined;
  return updated === 0 ? 'install' : 'update';
}
