// The last step of a build, run by Trunk on its staging folder: what Trunk does not do by itself.
// - The worker's files and the samples get names that change with their content, as Trunk gives the app's,
//   so that a cache never mixes two versions; index.html learns the names and the version.
// - The icon goes into index.html.
// - The result is checked: no inline script or style, no address outside the site's own folder.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const site = process.env.TRUNK_STAGING_DIR;
const source = process.env.TRUNK_SOURCE_DIR;
const sha = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex').slice(0, 16);
const read = (...path) => readFileSync(join(...path));

const workerJs = read(site, 'worker.js');
const workerWasm = read(site, 'worker_bg.wasm');
const worker = `worker-${sha(workerJs, workerWasm)}`;
renameSync(join(site, 'worker.js'), join(site, `${worker}.js`));
renameSync(join(site, 'worker_bg.wasm'), join(site, `${worker}_bg.wasm`));

const samples = `samples-${sha(...readdirSync(join(site, 'samples')).sort().flatMap((name) => [name, read(site, 'samples', name)]))}`;
renameSync(join(site, 'samples'), join(site, samples));

const version = /^version = "(.*)"$/m.exec(read(source, 'Cargo.toml').toString())[1];
const icon = read(source, 'www/icons/tracedrop.svg').toString().replace(/\s*\n\s*/g, '');

let html = read(site, 'index.html').toString();
const replace = (from, to) => {
  if (html.split(from).length !== 2) throw new Error(`index.html has to have this once: ${from}`);
  html = html.replace(from, () => to);
};
replace('<meta name="tracedrop-files"', `<meta name="tracedrop-files" data-version="${version}" data-worker-js="./${worker}.js" data-worker-wasm="./${worker}_bg.wasm" data-samples="./${samples}/"`);
replace('href="www/icons/tracedrop.svg"', `href="data:image/svg+xml,${encodeURIComponent(icon)}"`);

const markup = html.replace(/<!--[^]*?-->/g, '');
for (const tag of markup.match(/<[a-z][^>]*>/gi)) {
  if (/^<style|\sstyle=|\son[a-z]+=/i.test(tag) || (/^<script/i.test(tag) && !/\ssrc=/i.test(tag))) {
    throw new Error(`the page's policy forbids inline code: ${tag}`);
  }
  for (const [, address] of tag.matchAll(/\s(?:src|href|data-app-js|data-app-wasm)="([^"]*)"/gi)) {
    if (!address.startsWith('./') && !address.startsWith('data:')) throw new Error(`not relative to the page: ${tag}`);
  }
}
writeFileSync(join(site, 'index.html'), html);
