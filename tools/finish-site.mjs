// The last step of a build, run by Trunk on its staging folder. It
// - adds content hashes to the names of the worker's files and of the samples, as Trunk does for the app's, so that a cache
//   never mixes two versions, and writes the names and the version to index.html,
// - embeds the icons in index.html and in the manifest,
// - writes the list of files with their checksums to the service worker,
// - makes tracedrop.html: the page in a single file, for use without a server and in frames,
// - copies trace-drop.js, the element for other pages,
// - computes the hash of the build,
// - checks the result: no inline script or style, no address outside the site's folder.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import zopfli from '@gfx/zopfli';
import { NO_BUILD, buildHash, filesIn } from './build-hash.mjs';

const site = process.env.TRUNK_STAGING_DIR;
const source = process.env.TRUNK_SOURCE_DIR;
const sha = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex').slice(0, 16);
const integrity = (data) => `sha256-${createHash('sha256').update(data).digest('base64')}`;
const read = (...path) => readFileSync(join(...path));
const write = (name, data) => writeFileSync(join(site, name), data);
/** Replaces `from` by `to` in `text`, where it has to occur exactly once. */
const replaced = (where, text, from, to) => {
  if (text.split(from).length !== 2) throw new Error(`${where} has to contain this exactly once: ${from}`);
  return text.replace(from, () => to);
};

const workerJs = read(site, 'worker.js');
const workerWasm = read(site, 'worker_bg.wasm');
const worker = `worker-${sha(workerJs, workerWasm)}`;
renameSync(join(site, 'worker.js'), join(site, `${worker}.js`));
renameSync(join(site, 'worker_bg.wasm'), join(site, `${worker}_bg.wasm`));

const samples = `samples-${sha(...readdirSync(join(site, 'samples')).sort().flatMap((name) => [name, read(site, 'samples', name)]))}`;
renameSync(join(site, 'samples'), join(site, samples));

// --- index.html --------------------------------------------------------------------------------------------------

const version = /^version = "(.*)"$/m.exec(read(source, 'Cargo.toml').toString())[1];
const icon = read(source, 'www/icons/tracedrop.svg').toString().replace(/\s*\n\s*/g, '');

let html = read(site, 'index.html').toString();
const replace = (from, to) => (html = replaced('index.html', html, from, to));
replace(
  '<meta name="tracedrop-files"',
  `<meta name="tracedrop-files" data-version="${version}" data-build="${NO_BUILD}" data-worker-js="./${worker}.js" data-worker-wasm="./${worker}_bg.wasm" data-samples="./${samples}/"`,
);
replace('href="www/icons/tracedrop.svg"', `href="data:image/svg+xml,${encodeURIComponent(icon)}"`);

const markup = html.replace(/<!--[^]*?-->/g, '');
for (const tag of markup.match(/<[a-z][^>]*>/gi)) {
  if (/^<style|\sstyle=|\son[a-z]+=/i.test(tag) || (/^<script/i.test(tag) && !/\ssrc=/i.test(tag))) {
    throw new Error(`the page's policy forbids inline code: ${tag}`);
  }
  for (const [, address] of tag.matchAll(/\s(?:src|href|data-app-js|data-app-wasm)="([^"]*)"/gi)) {
    if (!address.startsWith('./') && !address.startsWith('data:')) throw new Error(`address is not relative to the page: ${tag}`);
  }
}
write('index.html', html);

// --- the manifest ------------------------------------------------------------------------------------------------

// Icons are embedded, because browsers request them late, after the page is locked.
const manifest = JSON.parse(read(source, 'www/tracedrop.webmanifest'));
for (const image of manifest.icons) {
  image.src = `data:${image.type};base64,${read(source, 'www', image.src).toString('base64')}`;
}
write('tracedrop.webmanifest', JSON.stringify(manifest));

// --- the service worker ------------------------------------------------------------------------------------------

const kept = Object.fromEntries(filesIn(site).map((name) => [name, name === 'index.html' ? '' : integrity(read(site, name))]));
const serviceWorker = read(source, 'www/service-worker.js').toString();
write('service-worker.js', replaced('service-worker.js', serviceWorker, 'const FILES = {};', `const FILES = ${JSON.stringify(kept, null, 2)};`));

// --- the single file ---------------------------------------------------------------------------------------------

/** Digits of base 85, as in boot.js: they cannot end the surrounding block or start markup. */
const DIGITS = '!#$%()*+,.0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_abcdefghijklmnopqrstuvwxyz{|}~';
/** Text 25% longer than the bytes, compared with 33% for base64. */
const base85 = (bytes) => {
  const padded = Buffer.concat([bytes, Buffer.alloc(3)]);
  const groups = [];
  for (let at = 0; at < bytes.length; at += 4) {
    const digits = [];
    for (let rest = padded.readUInt32BE(at), n = 0; n < 5; n++, rest = Math.floor(rest / 85)) digits.unshift(DIGITS[rest % 85]);
    groups.push(digits.join(''));
  }
  return groups.join('').slice(0, Math.ceil((bytes.length * 5) / 4));
};
/** As gzip with stronger compression: 5% smaller, half a minute for the whole site. */
const pack = async (bytes) =>
  process.env.TRACEDROP_QUICK ? gzipSync(bytes) : Buffer.from(await zopfli.gzipAsync(bytes, { numiterations: 5, blocksplittingmax: 0 }));
/** A file as text in the page: a data block, which the browser does not run. boot.js reads it. */
const block = async (name, type) =>
  `<script type="text/plain" data-file="./${name}" data-type="${type}">${base85(await pack(read(site, name)))}</script>`;
const fileOf = (pattern) => pattern.exec(markup)[1];
const appJs = fileOf(/data-app-js="\.\/([^"]*)"/);
if (/^\s*(?:import|export)\b[^;]*\bfrom\s*['"]/m.test(read(site, appJs).toString())) throw new Error(`${appJs} loads further scripts`);
/** Tags that match `is`, with their addresses, in any order of attributes. */
const tagsWith = (pattern, is) =>
  [...markup.matchAll(pattern)].filter(([tag]) => is.test(tag)).map(([tag]) => [tag, /\s(?:src|href)="?\.\/([^"\s>]*)/.exec(tag)?.[1]]);
const styles = tagsWith(/<link\b[^>]*>/g, /\srel="?stylesheet\b/);
const [bootTag] = tagsWith(/<script\b[^>]*>\s*<\/script>/g, /\stype="?module\b/);
if (styles.length === 0 || !bootTag) throw new Error('unexpected links to styles and boot.js in index.html');

const style = `\n${styles.map(([, name]) => read(site, name).toString()).join('\n')}`;
const boot = `\n${read(site, bootTag[1])}`;
if (!boot.includes(`'${DIGITS}'`)) throw new Error('the base 85 digits in boot.js differ');
for (const [what, text] of [['style', style], ['script', boot]]) {
  if (text.includes(`</${what}`)) throw new Error(`this cannot be embedded in a page: </${what}`);
}
const blocks = await Promise.all([
  block(appJs, 'text/javascript'),
  block(fileOf(/data-app-wasm="\.\/([^"]*)"/), 'application/wasm'),
  block(`${worker}.js`, 'text/javascript'),
  block(`${worker}_bg.wasm`, 'application/wasm'),
  ...filesIn(join(site, samples)).map((name) => block(`${samples}/${name}`, 'application/json')),
]);
let whole = html.replace(/\n *<!--[^]*?-->/g, '');
for (const [tag] of [...styles, bootTag]) whole = replaced('index.html', whole, tag, '');
whole = replaced('index.html', whole, /<link rel="manifest"[^>]*>/.exec(whole)[0], '').replace(/\n\s*\n/g, '\n');
whole = replaced(
  'index.html',
  whole,
  /content="(default-src[^"]*)"/.exec(whole)[0],
  // Nothing is ever fetched. The app's script is loaded from this file through a blob: URL, before the lock.
  `content="default-src 'none'; script-src '${integrity(boot)}' blob: 'wasm-unsafe-eval'; style-src '${integrity(style)}'; img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'"`,
);
whole = replaced('index.html', whole, '</head>', `<style>${style}</style>\n</head>`);
whole = replaced('index.html', whole, '</body>', `${blocks.join('\n')}\n<script type="module">${boot}</script>\n</body>`);
write('tracedrop.html', whole);

// --- for other pages ---------------------------------------------------------------------------------------------

write('trace-drop.js', read(source, 'embed/trace-drop.js'));

// --- the hash of the build ---------------------------------------------------------------------------------------

const build = buildHash(site);
for (const name of ['index.html', 'tracedrop.html', 'service-worker.js']) {
  write(name, replaced(name, read(site, name).toString(), NO_BUILD, build));
}
