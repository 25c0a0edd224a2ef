// Copies to an example in examples/ what it shows: the package trace-drop, traces, limits.
//
//   node tools/prepare-example.mjs examples/mkdocs/docs [PACKAGE]
//
// PACKAGE is the package from `make dist` (default: target/npm/trace-drop).
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = process.argv[2];
const from = process.argv[3] ?? join(root, 'target/npm/trace-drop');
if (!folder) {
  console.error('usage: node tools/prepare-example.mjs examples/mkdocs/docs [PACKAGE]');
  process.exit(2);
}
for (const name of ['trace-drop.js', 'tracedrop.html']) cpSync(join(from, name), join(folder, 'tracedrop', name));
mkdirSync(join(folder, 'traces'), { recursive: true });
for (const name of ['serving.json', 'python-threads.jsonl']) cpSync(join(root, 'www/samples', name), join(folder, 'traces', name));
for (const name of ['kept.txt', 'passed.txt', 'serving.svg']) cpSync(join(root, 'examples/traces', name), join(folder, 'traces', name));
