// Reports in other pages: the element and its package, sandboxed frames, valid and invalid messages, badges, and the
// MkDocs example. The host page has its own server and sends no permission headers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listen, staticServer } from '../../tools/static-server.mjs';
import { DIST, accessibilityProblems, launchBrowser, openPage } from './support.mjs';

const path = (name) => fileURLToPath(new URL(`../../${name}`, import.meta.url));

let browser;
let folder;
let host;
before(async () => {
  browser = await launchBrowser();
  folder = mkdtempSync(join(tmpdir(), 'tracedrop-embed-'));
  execFileSync(process.execPath, [path('tools/make-package.mjs'), DIST, join(folder, 'package')]);
  mkdirSync(join(folder, 'site'));
  cpSync(join(folder, 'package'), join(folder, 'site/vendor'), { recursive: true });
  cpSync(path('www/samples'), join(folder, 'site/traces'), { recursive: true });
  cpSync(path('examples/traces'), join(folder, 'site/traces'), { recursive: true });
  const requests = [];
  const server = staticServer(join(folder, 'site'), { onRequest: ({ method, url, headers }) => requests.push({ method, url, origin: headers.origin }) });
  host = { url: `http://127.0.0.1:${await listen(server)}/`, requests, server };
});
after(async () => {
  await browser?.close();
  host?.server.closeAllConnections();
  host?.server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A page of the host with this body; `told` collects the messages of the element and of frames. */
async function hostPage(name, body, head = '') {
  writeFileSync(
    join(folder, 'site', `${name}.html`),
    `<!doctype html><html lang="en"><head><title>${name}</title><link rel="icon" href="data:,">${head}</head><body><main><h1>${name}</h1>${body}</main></body></html>`,
  );
  const context = await browser.newContext();
  const page = await context.newPage();
  page.console = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && page.console.push(message.text()));
  page.on('pageerror', (error) => page.console.push(error.message));
  await page.addInitScript(() => {
    globalThis.told = [];
    for (const name of ['ready', 'read', 'limits', 'problem']) addEventListener(`trace-drop-${name}`, ({ detail }) => told.push([name, detail]));
    if (globalThis.parent === globalThis) addEventListener('message', ({ data }) => data?.tracedrop && told.push([data.type, data]));
  });
  await page.goto(`${host.url}${name}.html`);
  return page;
}

const ELEMENT = '<script type="module" src="vendor/trace-drop.js"></script>';
/** Waits for a message of that kind and returns the last one. */
async function told(page, kind) {
  await page.waitForFunction((kind) => globalThis.told.some(([name]) => name === kind), kind, { timeout: 120_000 });
  return page.evaluate((kind) => globalThis.told.findLast(([name]) => name === kind)[1], kind);
}
/** The document in the only frame. */
const inside = (page) => page.frames().find((frame) => frame.url().includes('mode=embed'));

test('the element shows the requested report at its full height, in a sandbox', { timeout: 300_000 }, async () => {
  const page = await hostPage('element', '<trace-drop src="traces/serving.json" report="slices" theme="dark" label="Slices"><p>not yet</p></trace-drop>', ELEMENT);
  assert.equal(await page.getByText('not yet').isVisible(), true);
  const { name, reports } = await told(page, 'read');
  assert.equal(name, 'serving.json');
  assert.ok(reports.some(({ id }) => id === 'slices'));
  assert.equal(await page.getByText('not yet').isVisible(), false);
  const frame = inside(page);
  assert.equal(await frame.evaluate(() => self.origin), 'null', 'it has no origin');
  assert.equal(await frame.evaluate(() => globalThis.tracedrop.locked), true);
  assert.equal(await frame.locator('.report:not([hidden]) h2').textContent(), 'Slices by name');
  assert.equal(await frame.locator('html').getAttribute('data-theme'), 'dark');
  assert.equal(await frame.locator('.header, .start, .report-list, .file-tools:visible').count(), 0);
  // As high as its content.
  await page.waitForFunction(() => globalThis.told.length > 0);
  const height = () => frame.evaluate(() => [document.body.getBoundingClientRect().height, innerHeight, document.documentElement.scrollHeight]);
  for (let tries = 0; (await height())[1] !== Math.ceil((await height())[0]) && tries < 100; tries += 1) await page.waitForTimeout(20);
  const [body, window, scroll] = await height();
  assert.equal(window, Math.ceil(body));
  assert.ok(scroll <= window && window > 200, `${scroll} in ${window}`);
  // The table works: sorting is the worker's.
  await frame.locator('.report:not([hidden]) th button').first().click();
  // Another report, another trace, another theme.
  const element = page.locator('trace-drop');
  await element.evaluate((element) => element.setAttribute('report', ''));
  await frame.getByRole('navigation', { name: 'Reports' }).waitFor();
  await element.evaluate((element) => element.setAttribute('theme', 'light'));
  await frame.locator('html[data-theme=light]').waitFor();
  await element.evaluate((element) => element.setAttribute('src', 'traces/python-threads.jsonl'));
  await frame.getByRole('heading', { name: 'python-threads.jsonl' }).waitFor();
  await element.evaluate((element) => element.open([{ name: 'own.json', data: '[{"name":"a","ph":"X","ts":0,"dur":5,"pid":1,"tid":1}]' }]));
  await frame.getByRole('heading', { name: 'own.json' }).waitFor();
  assert.equal((await accessibilityProblems(page)).join('\n'), '');
  // The frame requested only itself; the page requested the traces.
  for (const { url, origin } of host.requests) assert.notEqual(origin, 'null', url);
  assert.deepEqual(page.console, []);
  await element.evaluate((element) => element.remove());
  while (page.frames().length > 1) await page.waitForTimeout(20);
  await page.context().close();
});

test('timeline and flame graph are shown alone, at their full height', { timeout: 300_000 }, async () => {
  const page = await hostPage('pictures', '<trace-drop src="traces/gpu-serving.json" report="timeline" label="Timeline"></trace-drop>', ELEMENT);
  const { reports } = await told(page, 'read');
  assert.ok(reports.length > 2);
  const frame = inside(page);
  const report = frame.locator('.report:not([hidden])');
  const isAlone = async () => {
    assert.equal(await report.count(), 1);
    assert.equal(await frame.locator('.header, .report-list, .load-strip').count(), 0);
    // The frame follows its content, and neither grows because the other did.
    const heights = () => frame.evaluate(() => [innerHeight, Math.ceil(document.body.getBoundingClientRect().height)]);
    let last = [0, 1];
    for (let same = 0, tries = 0; same < 10 && tries < 200; tries += 1) {
      const now = await heights();
      same = now[0] === now[1] && now[0] === last[0] ? same + 1 : 0;
      last = now;
      await page.waitForTimeout(50);
    }
    assert.equal(last[0], last[1]);
    assert.ok(last[0] > 200 && last[0] < 4000, `${last}`);
    return last[0];
  };
  await report.getByRole('heading', { level: 2, name: 'Timeline', exact: true }).waitFor();
  await report.locator('.timeline-view canvas').waitFor();
  await isAlone();
  // Something is drawn: more colors than those of paper, grid and texts.
  await frame.waitForFunction(() => {
    const canvas = document.querySelector('.report:not([hidden]) .timeline-view canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const colors = new Set();
    for (let at = 0; at < data.length; at += 4 * 7) colors.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
    return colors.size > 20;
  });
  await page.locator('trace-drop').evaluate((element) => element.setAttribute('report', 'flame'));
  await report.getByRole('heading', { level: 2, name: 'Flame graph', exact: true }).waitFor();
  await report.locator('.flame path').first().waitFor();
  await isAlone();
  assert.equal(await page.evaluate(() => globalThis.told.filter(([kind]) => kind === 'problem').length), 0);
  // A trace without stacks or times says that it has no such report.
  await page.locator('trace-drop').evaluate((element) => element.open([{ name: 'empty.json', data: '[]' }]));
  assert.match((await told(page, 'problem')).what, /has no report flame/);
  assert.deepEqual(page.console, []);
  await page.context().close();
});

test('the element works where a server strips .html and the query string', { timeout: 300_000 }, async () => {
  writeFileSync(join(folder, 'site/clean.html'), `<!doctype html><title>clean</title><link rel="icon" href="data:,">${ELEMENT}<trace-drop src="traces/serving.json" report="slices" theme="dark"></trace-drop>`);
  const files = staticServer(join(folder, 'site'));
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    if (pathname.endsWith('.html')) return response.writeHead(301, { location: pathname.slice(0, -5) }).end();
    if (!/\.\w+$/.test(pathname)) request.url = `${pathname}.html`;
    files.emit('request', request, response);
  });
  const url = `http://127.0.0.1:${await listen(server)}`;
  const page = await openPage(browser, `${url}/clean`, { ready: false });
  const frame = page.frameLocator('iframe');
  await frame.locator('.report:not([hidden])').getByRole('heading', { level: 2, name: 'Slices by name' }).waitFor({ timeout: 120_000 });
  await frame.locator('html[data-theme=dark][data-mode=embed]').waitFor();
  assert.equal(await frame.locator('.header, .report-list').count(), 0);
  assert.deepEqual(page.console, []);
  await page.context().close();
  server.closeAllConnections();
  server.close();
});

test('changes of theme and report while the frame starts are not lost', { timeout: 300_000 }, async () => {
  const page = await hostPage('early', '<trace-drop src="traces/serving.json" report="slices" theme="light"></trace-drop>', ELEMENT);
  // Sites do this once their own scripts have run. The frame does not listen yet: its code is not compiled.
  await page.evaluate(() => {
    const element = document.querySelector('trace-drop');
    element.remove();
    document.querySelector('main').append(element);
    element.setAttribute('theme', 'dark');
    element.setAttribute('report', 'longest');
  });
  await told(page, 'read');
  const frame = inside(page);
  await frame.locator('html[data-theme=dark]').waitFor();
  await frame.getByRole('heading', { level: 2, name: 'Longest slices', exact: true }).waitFor();
  assert.deepEqual(page.console, []);
  await page.context().close();
});

test('an error is shown next to the fallback content', { timeout: 300_000 }, async () => {
  const page = await hostPage('broken', '<trace-drop src="traces/nothing.json"><p>a picture</p></trace-drop>', ELEMENT);
  assert.match((await told(page, 'problem')).what, /the trace traces\/nothing\.json: the server returned 404/);
  await page.getByRole('alert').getByText('the server returned 404').waitFor();
  assert.equal(await page.getByText('a picture').isVisible(), true);
  await page.evaluate(() => (globalThis.told.length = 0));
  await page.locator('trace-drop').evaluate((element) => element.open([{ name: 'letter.txt', data: 'Dear all' }]));
  assert.ok((await told(page, 'problem')).what.length > 10);
  await page.context().close();
});

test('a badge is green or red by the limits in a file, and says why', { timeout: 300_000 }, async () => {
  const page = await hostPage('badge', '<trace-drop src="traces/serving.json" limits="traces/kept.txt" show="badge"></trace-drop>', ELEMENT);
  assert.equal((await told(page, 'limits')).state, 'green');
  const frame = inside(page);
  const badge = frame.getByTestId('budget');
  assert.equal(await badge.locator('summary').textContent(), 'Within budget: 1 limit met');
  assert.equal(await frame.locator('.panel').isVisible(), false);
  await page.evaluate(() => (globalThis.told.length = 0));
  await page.locator('trace-drop').evaluate((element) => element.setAttribute('limits', 'traces/passed.txt'));
  const { state, limits } = await told(page, 'limits');
  assert.equal(state, 'red');
  assert.deepEqual(limits.map(({ state }) => state), ['kept', 'passed', 'unknown']);
  assert.match(limits[1].words, /total of table/);
  assert.equal(await badge.locator('summary').textContent(), 'Over budget: 2 of 3 limits not met');
  await badge.locator('summary').click();
  await frame.getByText('gpu.per_step > 12 ms').waitFor();
  assert.equal((await accessibilityProblems(page)).join('\n'), '');
  await page.context().close();
});

test('messages: files of every type, reports, hostile messages, and messages of others', { timeout: 300_000 }, async () => {
  const page = await hostPage('messages', '<iframe sandbox="allow-scripts" title="trace" src="vendor/tracedrop.html?mode=embed"></iframe><iframe id="other" title="other" srcdoc="<p>other"></iframe>');
  assert.match((await told(page, 'ready')).build, /^[0-9a-f]{64}$/);
  const frame = inside(page);
  const send = (message) =>
    page.evaluate((message) => {
      globalThis.told.length = 0;
      const bytes = (text) => new TextEncoder().encode(text);
      const of = { buffer: (text) => bytes(text).buffer, view: bytes, blob: (text) => new Blob([text]), text: (text) => text };
      for (const file of Array.isArray(message?.files) ? message.files : []) if (file?.as) file.data = of[file.as](file.data);
      document.querySelector('iframe').contentWindow.postMessage(message, '*');
    }, message);
  const trace = '[{"name":"a","ph":"X","ts":0,"dur":5,"pid":1,"tid":1}]';
  for (const as of ['buffer', 'view', 'blob', 'text']) {
    await send({ tracedrop: 1, type: 'open', files: [{ name: `${as}.json`, data: trace, as }] });
    assert.equal((await told(page, 'read')).name, `${as}.json`);
  }
  assert.equal(await frame.locator('[role=tabpanel]').count(), 1, 'each takes the place of the one before');
  const wrong = [
    { tracedrop: 2, type: 'open' },
    { tracedrop: 1 },
    { tracedrop: 1, type: 'navigate', url: 'https://example.com' },
    { tracedrop: 1, type: 'open' },
    { tracedrop: 1, type: 'open', files: [] },
    { tracedrop: 1, type: 'open', files: [null] },
    { tracedrop: 1, type: 'open', files: [{ name: '', data: trace }] },
    { tracedrop: 1, type: 'open', files: [{ name: 'x', data: { toString: 'no' } }] },
    { tracedrop: 1, type: 'open', files: { length: 1e9 } },
    { tracedrop: 1, type: 'theme', theme: 'url(https://example.com)' },
    { tracedrop: 1, type: 'theme' },
    { tracedrop: 1, type: 'limits', limits: 7 },
  ];
  for (const message of wrong) {
    await send(message);
    assert.ok((await told(page, 'problem')).what, JSON.stringify(message));
  }
  // Messages for others: no answer, no harm.
  for (const message of [null, 1, 'open', [], {}, { type: 'open', files: [] }, { tracedrop: 'x' }, [[[[]]]]]) await send(message);
  await page.waitForTimeout(200);
  assert.deepEqual(await page.evaluate(() => globalThis.told), []);
  // Another frame of the same page is not the host.
  await page.frames().find((frame) => frame.url() === 'about:srcdoc').evaluate(() => {
    parent.frames[0].postMessage({ tracedrop: 1, type: 'open', files: [{ name: 'foreign.json', data: '[]' }] }, '*');
  });
  await page.waitForTimeout(300);
  assert.equal(await frame.getByRole('heading', { level: 1 }).textContent(), 'text.json');
  // Markup in a name is shown as text.
  await send({ tracedrop: 1, type: 'open', files: [{ name: '<img src=x onerror=alert(1)>\u202e.json', data: trace, as: 'text' }] });
  await told(page, 'read');
  assert.equal(await frame.locator('img').count(), 0);
  // A missing report is reported; random limits do no harm.
  await send({ tracedrop: 1, type: 'report', report: 'no-such-report' });
  assert.match((await told(page, 'problem')).what, /has no report no-such-report/);
  await send({ tracedrop: 1, type: 'limits', limits: '\n# nothing\n' });
  assert.equal((await told(page, 'limits')).state, 'red');
  let seed = 7;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  const parts = ['slices.slices.self', '>', '<', '>=', ' ', '\n', '%', 'ms', '1e999', '-1', '\u0000', '#', 'é'.repeat(300), '9'.repeat(400)];
  for (let n = 0; n < 30; n += 1) {
    await send({ tracedrop: 1, type: 'limits', limits: Array.from({ length: random(12) }, () => parts[random(parts.length)]).join('') });
    assert.match((await told(page, 'limits')).state, /green|red/);
  }
  assert.deepEqual(page.console, []);
  await page.context().close();
});

test('a frame on the same site takes a trace by its address; one on another site does not', { timeout: 300_000 }, async () => {
  cpSync(DIST, join(folder, 'site/tracedrop'), { recursive: true });
  const address = `${host.url}tracedrop/index.html?mode=embed&src=../traces/serving.json&report=slices&theme=light`;
  const page = await hostPage('beside', `<iframe title="trace" src="${address}"></iframe>`);
  assert.equal((await told(page, 'read')).name, 'serving.json');
  const frame = inside(page);
  assert.equal(await frame.locator('.report:not([hidden]) h2').textContent(), 'Slices by name');
  // Dropping a file on it does nothing.
  await frame.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(['[]'], 'mine.json'));
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
  });
  await page.waitForTimeout(200);
  assert.equal(await frame.getByRole('heading', { level: 1 }).textContent(), 'serving.json');
  assert.equal(await frame.evaluate(() => localStorage.length), 0, 'nothing is remembered');
  await page.context().close();

  const other = staticServer(join(folder, 'site'));
  const port = await listen(other);
  const foreign = await openPage(browser, 'about:blank', { ready: false });
  await foreign.addInitScript(() => {
    globalThis.told = [];
    addEventListener('message', ({ data }) => globalThis.told.push([data.type, data]));
  });
  await foreign.goto(`http://127.0.0.1:${port}/beside.html`);
  assert.match((await told(foreign, 'problem')).what, /pass the trace in a message/);
  assert.equal(await foreign.evaluate(() => globalThis.told.some(([type]) => type === 'read')), false);
  await foreign.context().close();
  other.closeAllConnections();
  other.close();
});

test('the package is ready for npm, and complete', async () => {
  const listed = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json'], { cwd: join(folder, 'package'), encoding: 'utf8' }));
  const names = listed[0].files.map(({ path }) => path).sort();
  assert.deepEqual(names, ['LICENSE-APACHE', 'LICENSE-MIT', 'README.md', 'package.json', 'trace-drop.d.ts', 'trace-drop.js', 'tracedrop.html']);
  const about = JSON.parse(readFileSync(join(folder, 'package/package.json'), 'utf8'));
  assert.match(readFileSync(path('Cargo.toml'), 'utf8'), new RegExp(`^version = "${about.version}"$`, 'm'));
  // Sites that are rendered on a server load it there as well.
  execFileSync(process.execPath, ['--input-type=module', '--eval', `await import(${JSON.stringify(join(folder, 'package/trace-drop.js'))})`]);
  // The page in one file stays small enough to be sent around.
  assert.ok(readFileSync(join(folder, 'package/tracedrop.html')).length < (process.env.TRACEDROP_DIST ? 40e6 : 5.3e6));
});

test('the MkDocs example builds and shows its traces', { timeout: 300_000 }, async () => {
  const mkdocs = process.env.TRACEDROP_MKDOCS;
  assert.ok(mkdocs, 'tools/setup.sh all installs mkdocs');
  const example = join(folder, 'mkdocs');
  cpSync(path('examples/mkdocs'), example, { recursive: true });
  execFileSync(process.execPath, [path('tools/prepare-example.mjs'), join(example, 'docs'), join(folder, 'package')]);
  const built = join(folder, 'built');
  execFileSync(mkdocs, ['build', '--quiet', '--strict', '--config-file', join(example, 'mkdocs.yml'), '--site-dir', built], { stdio: 'pipe' });
  // Under a sub-path, as documentation mostly is.
  const server = staticServer(built, { base: '/docs/notes/' });
  const url = `http://127.0.0.1:${await listen(server)}/docs/notes/`;
  const page = await browser.newPage();
  await page.goto(url);
  const report = page.frameLocator('trace-drop iframe').locator('.report:not([hidden])');
  await report.getByRole('heading', { name: 'Slices by name' }).first().waitFor({ timeout: 120_000 });
  assert.equal(await page.locator('trace-drop img').isVisible(), false);
  // The same picture in Markdown, for places without frames.
  assert.ok(await page.locator('p > img[src$="serving.svg"]').last().evaluate((image) => image.naturalWidth > 100));
  await page.goto(`${url}budget/`);
  await page.frameLocator('#kept iframe').getByText('Within budget').waitFor({ timeout: 120_000 });
  await page.frameLocator('#passed iframe').getByText('Over budget').waitFor();
  await page.close();
  // Without scripts the picture is there.
  const plain = await browser.newContext({ javaScriptEnabled: false });
  const still = await plain.newPage();
  await still.goto(url);
  assert.equal(await still.locator('trace-drop img').isVisible(), true);
  await plain.close();
  server.closeAllConnections();
  server.close();
});
