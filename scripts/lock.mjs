/**
 * `npm run lock`: brings package-lock.json to the rule of scripts/lock-rule.mjs, after an `npm install` that changed it.
 */
import { writeFileSync } from 'node:fs';
import { brokenEntries, readLock, withoutUnverified } from './lock-rule.mjs';

const file = 'package-lock.json';
const lock = readLock(file);
const verified = withoutUnverified(lock);
writeFileSync(file, `${JSON.stringify(verified, undefined, 2)}\n`);
const leftOut = Object.keys(lock.packages).length - Object.keys(verified.packages).length;
console.log(`Left out of ${file}: ${leftOut} optional packages without a hash.`);
const broken = brokenEntries(verified);
for (const sentence of broken) console.log(sentence);
process.exitCode = broken.length === 0 ? 0 : 1;
