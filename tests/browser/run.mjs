// Runs tests/browser/*.test.mjs against dist/ or TRACEDROP_DIST: `make test-browser`, or some of them: `make test-browser ONLY=lock`.
// The last line is "browser: N passed, N failed".
//
// Files run in parallel, each with its own browser and server, so that they do not share clipboard, storage or worker counts;
// JOBS=1 runs them one after the other.
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { DIST } from './support.mjs';

if (!existsSync(`${DIST}/index.html`)) {
  console.error(`${DIST} is missing: make dist`);
  process.exit(1);
}
const folder = fileURLToPath(new URL('.', import.meta.url));
const only = process.argv.slice(2);
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.test.mjs') && (only.length === 0 || only.some((part) => name.includes(part))))
  .sort()
  .map((name) => folder + name);

const concurrency = Number(process.env.JOBS) || Math.min(availableParallelism(), 4);

let passed = 0;
let failed = 0;
const count = (by) => (data) => {
  if (data.details?.type !== 'suite' && !data.skip && !data.todo) by();
};
const events = run({ files, concurrency, timeout: 1_200_000 });
events.on('test:pass', count(() => (passed += 1)));
events.on('test:fail', count(() => (failed += 1)));
events.compose(spec).pipe(process.stdout);
events.on('end', () => {
  // After the reporter's own summary.
  setTimeout(() => {
    console.log(`browser: ${passed} passed, ${failed} failed`);
    process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
  }, 100);
});
