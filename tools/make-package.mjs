// Builds the package trace-drop, ready for `npm publish` or to be copied into a web site:
//
//   node tools/make-package.mjs [SITE] [FOLDER]
//
// It contains embed/ and tracedrop.html from SITE (default: dist), and is written to FOLDER (default: target/npm/trace-drop).
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const site = process.argv[2] ?? join(root, 'dist');
const folder = process.argv[3] ?? join(root, 'target/npm/trace-drop');

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const name of ['trace-drop.js', 'trace-drop.d.ts', 'README.md']) cpSync(join(root, 'embed', name), join(folder, name));
for (const name of ['LICENSE-MIT', 'LICENSE-APACHE']) cpSync(join(root, name), join(folder, name));
cpSync(join(site, 'tracedrop.html'), join(folder, 'tracedrop.html'));

const version = /^version = "(.*)"$/m.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'))[1];
const about = { ...JSON.parse(readFileSync(join(root, 'embed/package.json'), 'utf8')), version };
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
