// After one visit the site works offline; a new version never mixes with the old one; the system passes files to the
// installed page. The sites of these tests have their own servers, which are gone once closed.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildHash, filesIn, writtenBuild } from '../../tools/build-hash.mjs';
import { listen, staticServer } from '../../tools/static-server.mjs';
import { DIST, launchBrowser, openPageWithServiceWorker as openPage, waitUntilReady } from './support.mjs';

const BASE = '/tools/tracedrop/';
const SLICES = '[{"name":"first","ph":"X","ts":0,"dur":5,"pid":1,"tid":1},{"name":"second","ph":"X","ts":6,"dur":2,"pid":1,"tid":1}]';
/** As setInputFiles takes it. */
const FILE = { name: 'made.json', mimeType: 'application/json', buffer: Buffer.from(SLICES) };

let browser;
let folder;
before(async () => {
  browser = await launchBrowser();
  folder = mkdtempSync(join(tmpdir(), 'tracedrop-'));
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A server whose folder can be switched at any time. */
async function startSite(site, base = BASE) {
  const requests = [];
  const given = { site, requests };
  let inner = null;
  const server = createServer((request, response) => {
    if (inner?.site !== given.site) inner = { site: given.site, server: staticServer(given.site, { base }) };
    requests.push(`${request.method} ${request.url}`);
    inner.server.emit('request', request, response);
  });
  const port = await listen(server);
  given.url = `http://127.0.0.1:${port}${base}`;
  given.close = () => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve)));
  return given;
}

/** The same site as another build: content hashes in names, version and build all differ. */
function anotherBuild(name, version) {
  const copy = join(folder, name);
  cpSync(DIST, copy, { recursive: true });
  const old = writtenBuild(DIST);
  const build = Buffer.from(old, 'hex').reverse().toString('hex');
  const hashes = new Set(readdirSync(DIST).flatMap((name) => /-([0-9a-f]{16})(?=[._]|$)/.exec(name)?.[1] ?? []));
  const other = (text) => [...hashes].reduce((text, hash) => text.replaceAll(hash, [...hash].reverse().join('')), text);
  for (const name of readdirSync(copy)) renameSync(join(copy, name), join(copy, other(name)));
  for (const name of ['index.html', 'service-worker.js']) {
    const text = other(readFileSync(join(copy, name), 'utf8')).replaceAll(old, build);
    writeFileSync(join(copy, name), text.replace(/data-version="[^"]*"/, `data-version="${version}"`));
  }
  return copy;
}

const version = (page) => page.evaluate(() => globalThis.tracedrop.version);
const caches = (page) => page.evaluate(async () => (await globalThis.caches.keys()).sort());
const notice = (page) => page.getByText('A new version of Tracedrop is ready.');
/** Waits until the visible file is parsed. */
const isRead = (page) => page.locator('[role=tabpanel]:not([hidden]) .file-head').waitFor({ timeout: 120_000 });
async function opensFiles(page) {
  await page.getByTestId('file-input').setInputFiles(FILE);
  await isRead(page);
  assert.match(await page.locator('[role=tabpanel]:not([hidden]) .verdict p').textContent(), /^Parsed all 2 events/);
}
async function opensSample(page) {
  await page.getByRole('button', { name: 'Tracedrop' }).first().click();
  await page.locator('.samples .sample').first().click();
  await isRead(page);
}

test('after one visit everything works offline', { timeout: 300_000 }, async () => {
  const site = await startSite(DIST);
  const page = await openPage(browser, site.url);
  assert.match(await page.locator('.start-foot').textContent(), /works offline/);
  // Everything is loaded when the page is ready, so nothing is requested later.
  const n = site.requests.length;
  await opensSample(page);
  assert.deepEqual(site.requests.slice(n), []);
  await page.context().setOffline(true);
  await site.close();
  for (const address of [site.url, `${site.url}index.html`, `${site.url}?theme=dark#somewhere`]) {
    await page.goto(address);
    await waitUntilReady(page);
    await opensFiles(page);
    await opensSample(page);
  }
  // A window of its own, and a report that a worker makes.
  const other = await page.context().newPage();
  await other.goto(site.url);
  await waitUntilReady(other);
  await opensFiles(other);
  assert.deepEqual(page.violations, []);
  assert.deepEqual(page.console.filter((line) => !line.includes('net::ERR')), []);
  await page.context().close();
});

test('the build shown in the footer matches the files', async () => {
  assert.equal(buildHash(DIST, writtenBuild(DIST)), writtenBuild(DIST));
  const printed = execFileSync(process.execPath, [new URL('../../tools/build-hash.mjs', import.meta.url).pathname, DIST], { encoding: 'utf8' });
  assert.equal(printed.trim(), writtenBuild(DIST));
  const site = await startSite(DIST);
  const page = await openPage(browser, site.url);
  assert.equal(await page.getByTestId('build').getAttribute('title'), writtenBuild(DIST));
  assert.equal(await page.getByTestId('build').textContent(), `build ${writtenBuild(DIST).slice(0, 16)}`);
  await page.context().close();
  await site.close();
  // One changed letter is found.
  const changed = join(folder, 'changed');
  cpSync(DIST, changed, { recursive: true });
  const style = filesIn(changed).find((name) => name.endsWith('.css'));
  writeFileSync(join(changed, style), `${readFileSync(join(changed, style), 'utf8')} `);
  assert.notEqual(buildHash(changed, writtenBuild(changed)), writtenBuild(changed));
});

test('a new version waits, shows a notice, takes over on request, and never mixes with the old one', { timeout: 300_000 }, async () => {
  const site = await startSite(DIST);
  const first = await openPage(browser, site.url);
  const old = await version(first);
  assert.equal((await caches(first)).length, 1);
  site.site = anotherBuild('newer', '9.9.9');
  const n = site.requests.length;
  const second = await first.context().newPage();
  await second.goto(site.url);
  await waitUntilReady(second);
  // The server has the new files, the page still uses the old ones.
  assert.equal(await version(second), old);
  await notice(second).waitFor({ timeout: 120_000 });
  await notice(first).waitFor();
  assert.equal((await caches(first)).length, 2);
  // Meanwhile only files of the new build were requested, each once.
  const asked = site.requests.slice(n).map((request) => request.replace(`GET ${BASE}`, ''));
  const there = new Set(filesIn(site.site));
  for (const name of asked) assert.ok(there.has(name), `${name} is not of the new build`);
  assert.equal(new Set(asked).size, asked.length);
  // After Later, the old version stays, even after a reload.
  await second.getByRole('button', { name: 'Later' }).press('Enter');
  await second.waitForFunction(() => document.activeElement.matches('.brand'));
  await second.reload();
  await waitUntilReady(second);
  assert.equal(await version(second), old);
  await opensFiles(second);
  await notice(second).waitFor();
  assert.match(await second.locator('.newer').textContent(), /Reloading closes 1 open file\./);
  await second.getByRole('button', { name: 'Reload' }).click();
  await second.waitForFunction(() => globalThis.tracedrop?.version === '9.9.9');
  await waitUntilReady(second);
  await opensFiles(second);
  await opensSample(second);
  // The other window still has the complete old build, and shows the notice.
  assert.equal(await version(first), old);
  await opensSample(first);
  assert.equal(await notice(first).isVisible(), true);
  assert.equal((await caches(first)).length, 2, 'its files stay');
  await first.close();
  await second.reload();
  await waitUntilReady(second);
  await second.waitForFunction(async () => (await globalThis.caches.keys()).length === 1);
  assert.equal(await version(second), '9.9.9');
  assert.equal(await notice(second).count(), 0);
  await second.context().close();
  await site.close();
});

test('a new version takes over by itself once no page of the old one is open', { timeout: 300_000 }, async () => {
  const site = await startSite(DIST);
  const page = await openPage(browser, site.url);
  site.site = anotherBuild('later', '9.9.8');
  await page.reload();
  await notice(page).waitFor({ timeout: 120_000 });
  await page.goto('about:blank');
  await page.waitForTimeout(1000);
  await site.close();
  await page.goto(site.url);
  await waitUntilReady(page);
  assert.equal(await version(page), '9.9.8');
  await page.waitForFunction(async () => (await globalThis.caches.keys()).length === 1);
  await page.context().close();
});

test('an incomplete version is not cached', { timeout: 300_000 }, async () => {
  const site = await startSite(DIST);
  const page = await openPage(browser, site.url);
  const old = await version(page);
  const before = await caches(page);
  const half = anotherBuild('half', '9.9.7');
  const damaged = filesIn(half).find((name) => name.startsWith('samples-') && name.endsWith('.jsonl'));
  const keeps = Object.fromEntries([damaged, 'index.html'].map((name) => [name, readFileSync(join(half, name))]));
  site.site = half;
  // A truncated file, and an index.html that is not updated yet.
  for (const [name, bad] of [[damaged, '{}'], ['index.html', readFileSync(join(DIST, 'index.html'))]]) {
    writeFileSync(join(half, name), bad);
    const n = site.requests.length;
    await page.reload();
    await waitUntilReady(page);
    while (!site.requests.slice(n).some((request) => request.endsWith(name))) await page.waitForTimeout(100);
    await page.waitForTimeout(1500);
    assert.equal(await version(page), old);
    assert.deepEqual(await caches(page), before);
    assert.equal(await notice(page).count(), 0);
    await opensSample(page);
    writeFileSync(join(half, name), keeps[name]);
  }
  // Once complete, it is used.
  await page.reload();
  await notice(page).waitFor({ timeout: 120_000 });
  await page.context().close();
  await site.close();
});

test('two copies on one server are independent', { timeout: 300_000 }, async () => {
  const both = join(folder, 'both');
  mkdirSync(both);
  cpSync(DIST, join(both, 'one'), { recursive: true });
  cpSync(anotherBuild('other-copy', '9.9.6'), join(both, 'two'), { recursive: true });
  const site = await startSite(both, '/');
  const one = await openPage(browser, `${site.url}one/`);
  const two = await one.context().newPage();
  await two.goto(`${site.url}two/`);
  await waitUntilReady(two);
  await site.close();
  await one.reload();
  await two.reload();
  await Promise.all([waitUntilReady(one), waitUntilReady(two)]);
  assert.notEqual(await version(one), '9.9.6');
  assert.equal(await version(two), '9.9.6');
  assert.equal((await caches(one)).length, 2);
  await one.context().close();
});

test('the page can be installed: Chromium accepts its manifest', async () => {
  const site = await startSite(DIST);
  const page = await openPage(browser, site.url);
  const session = await page.context().newCDPSession(page);
  const { url, errors, data } = await session.send('Page.getAppManifest');
  assert.deepEqual(errors, []);
  assert.match(url, /^blob:/, 'read from memory: the page may not ask for it any more');
  const manifest = JSON.parse(data);
  assert.equal(manifest.start_url, site.url);
  assert.equal(manifest.scope, site.url);
  assert.equal(manifest.share_target.action, `${site.url}share-target`);
  for (const ending of ['.json', '.gz', '.zst', '.jsonl', '.parquet', '.txt', '.trace']) {
    assert.ok(Object.values(manifest.file_handlers[0].accept).flat().includes(ending), ending);
  }
  const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
  assert.deepEqual(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito'), []);
  for (const { src, sizes } of manifest.icons) {
    // Width and height stand in the head of a PNG.
    const head = Buffer.from(src.split(',')[1], 'base64').subarray(16, 24);
    assert.equal(`${head.readUInt32BE(0)}x${head.readUInt32BE(4)}`, sizes);
  }
  assert.deepEqual(page.violations, []);
  await page.context().close();
  await site.close();
});

test('files shared with the installed page open in it and are then deleted', { timeout: 300_000 }, async () => {
  const site = await startSite(DIST);
  const page = await openPage(browser, site.url);
  await site.close();
  // For a share target the system posts a form.
  const sender = await page.context().newPage();
  await sender.setContent(
    `<form action="${site.url}share-target" method="post" enctype="multipart/form-data"><input type="file" name="traces" multiple><button>Share</button></form>`,
  );
  await sender.locator('input').setInputFiles([FILE, { ...FILE, name: 'other größe.json' }]);
  await sender.getByRole('button', { name: 'Share' }).click();
  await waitUntilReady(sender);
  await isRead(sender);
  // Two files of the same kind are also compared, as when they are dropped.
  assert.deepEqual((await sender.getByRole('tab').allTextContents()).slice(0, 2), ['made.json', 'other größe.json']);
  assert.equal(sender.url().split('#')[0], site.url);
  assert.deepEqual(await sender.evaluate(async () => {
    const names = (await globalThis.caches.keys()).filter((name) => name.startsWith('tracedrop-shared'));
    return Promise.all(names.map(async (name) => (await (await globalThis.caches.open(name)).keys()).length));
  }), [0]);
  // After a reload, the page does not look for files it has taken.
  await sender.reload();
  await waitUntilReady(sender);
  assert.equal(await sender.getByRole('tab').count(), 0);
  // A failure to store is reported.
  await sender.goto(`${site.url}?shared=failed`);
  await waitUntilReady(sender);
  await sender.getByRole('alert').getByText('could not be opened: the browser could not store it').waitFor();
  await page.context().close();
});

test('sharing something other than a trace, or nothing, shows an error', { timeout: 300_000 }, async () => {
  const site = await startSite(DIST);
  const page = await openPage(browser, site.url);
  await site.close();
  const share = async (fields, fill = async () => {}, encoding = 'multipart/form-data') => {
    const sender = await openPage({ newContext: async () => page.context() }, 'about:blank', { ready: false });
    await sender.setContent(`<form action="${site.url}share-target" method="post" enctype="${encoding}">${fields}<button>Share</button></form>`);
    await fill(sender);
    await sender.getByRole('button', { name: 'Share' }).click();
    await waitUntilReady(sender);
    assert.equal(sender.url().split('#')[0], site.url);
    return sender;
  };
  // A picture, as the list of what can be shared with it is only a hint to the system.
  const picture = await share('<input type="file" name="traces">', (sender) =>
    sender.locator('input').setInputFiles({ name: 'photo.png', mimeType: 'image/png', buffer: Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex') }),
  );
  await picture.locator('[role=tabpanel]:not([hidden])').getByText('is a PNG image, not a trace').first().waitFor();
  assert.deepEqual(await picture.locator('.tab-name').allTextContents(), ['photo.png']);
  // A text without a file, a field that is empty, a file in another field, and a form of another kind.
  for (const [fields, fill, encoding] of [
    ['<input name="text" value="look at this">'],
    ['<input type="file" name="traces">'],
    ['<input type="file" name="others">', (sender) => sender.locator('input').setInputFiles(FILE)],
    ['<input name="traces" value="[]">', undefined, 'application/x-www-form-urlencoded'],
  ]) {
    const sender = await share(fields, fill, encoding);
    await sender.getByRole('alert').getByText('could not be opened: no file came with it. Open the file itself instead.').waitFor();
    assert.equal(await sender.getByRole('tab').count(), 0);
    await opensFiles(sender);
    assert.deepEqual(sender.console, []);
    await sender.close();
  }
  const odd = await share('<input name="traces" value="[]">', undefined, 'text/plain');
  await odd.getByRole('alert').getByText('could not be opened: the browser could not store it').waitFor();
  // Nor do made-up addresses.
  for (const id of ['1-none', '..%2f..', '%00', 'x'.repeat(5000)]) {
    await odd.goto(`${site.url}?shared=${id}`);
    await waitUntilReady(odd);
    await odd.getByRole('alert').getByText('no file came with it').waitFor();
    assert.equal(odd.url(), site.url);
  }
  await page.context().close();
});

test('files opened with the installed page open in it', { timeout: 300_000 }, async () => {
  const site = await startSite(DIST);
  const context = await browser.newContext();
  const page = await context.newPage();
  // Headless Chromium installs nothing, so imitate the launch queue.
  await page.addInitScript((text) => {
    const handle = (name, lost) => ({ kind: 'file', name, getFile: async () => (lost ? Promise.reject(new Error('gone')) : new File([text], name)) });
    const launchQueue = {
      setConsumer(consume) {
        consume({ files: [] });
        consume({ files: [handle('double-clicked.json', false), handle('gone.json', true)] });
        globalThis.__launch = () => consume({ files: [handle('later.json', false)] });
      },
    };
    Object.defineProperty(globalThis, 'launchQueue', { value: launchQueue });
  }, SLICES);
  await page.goto(site.url);
  await waitUntilReady(page);
  await isRead(page);
  await page.getByRole('alert').getByText('could not read 1 file opened with Tracedrop').waitFor();
  await page.evaluate(() => globalThis.__launch());
  await page.getByRole('tab', { name: 'later.json' }).waitFor();
  assert.deepEqual(await page.locator('.tab-name').allTextContents(), ['double-clicked.json', 'later.json']);
  await context.close();
  await site.close();
});

test('unpacked from a zip and served by another server, it is the same page', { timeout: 300_000 }, async (t) => {
  try {
    execFileSync('python3', ['--version']);
  } catch {
    return t.skip('no python3');
  }
  const unpacked = join(folder, 'unpacked');
  const zip = join(folder, 'site.zip');
  execFileSync('python3', ['-m', 'zipfile', '-c', zip, ...readdirSync(DIST)], { cwd: DIST });
  execFileSync('python3', ['-m', 'zipfile', '-e', zip, unpacked]);
  assert.equal(buildHash(unpacked, writtenBuild(unpacked)), writtenBuild(DIST));
  const server = spawn('python3', ['-u', '-m', 'http.server', '0', '--bind', '127.0.0.1', '--directory', folder], { stdio: ['ignore', 'pipe', 'ignore'] });
  const port = await new Promise((resolve) => server.stdout.on('data', (text) => resolve(/port (\d+)/.exec(text)?.[1])));
  try {
    const page = await openPage(browser, `http://127.0.0.1:${port}/unpacked/`);
    await opensSample(page);
    await opensFiles(page);
    assert.deepEqual(page.console, []);
    await page.context().close();
  } finally {
    server.kill();
  }
});

test('the single-file page works from disk, without a server', { timeout: 300_000 }, async () => {
  const page = await openPage(browser, `file://${DIST.startsWith('/') ? DIST : join(process.cwd(), DIST)}/tracedrop.html`);
  assert.doesNotMatch(await page.locator('.start-foot').textContent(), /works offline/);
  await opensFiles(page);
  await opensSample(page);
  assert.equal(await page.evaluate(() => globalThis.tracedrop.locked), true);
  // Its links begin with #, without its folder, and the dialog says so; pasted, they open.
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.keyboard.press('h');
  await page.getByRole('menuitem', { name: 'Copy link to the results…' }).click();
  await page.getByText(/^This page was opened from disk/).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Copy link' }).click();
  await page.getByText('Link copied.').waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(link, /^#r1=[\w-]+$/);
  const before = await page.getByRole('tab').count();
  await page.evaluate((link) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', ` ${link}\n`);
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, link);
  await page.getByTestId('from-link').waitFor();
  assert.equal(await page.getByRole('tab').count(), before + 1);
  assert.deepEqual(page.violations, []);
  assert.deepEqual(page.console, []);
  // index.html needs a server, says so, and links to tracedrop.html.
  const index = await openPage(browser, `file://${DIST.startsWith('/') ? DIST : join(process.cwd(), DIST)}/index.html`, { ready: false });
  await index.getByText('browsers run it only from a web server').waitFor({ timeout: 120_000 });
  await index.getByRole('link', { name: 'tracedrop.html' }).click();
  await waitUntilReady(index);
  await page.context().close();
  await index.context().close();
});
