// The page starts, and shows a clear error when it cannot.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DIST, openPage, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();

test('the page starts without errors and requests only files of its own folder', async () => {
  const { browser, site } = given;
  const page = await openPage(browser, site.url);
  assert.deepEqual(page.console, []);
  assert.deepEqual(page.violations, []);
  assert.equal(await page.evaluate(() => globalThis.tracedrop.locked), true);
  assert.match(await page.evaluate(() => globalThis.tracedrop.version), /^\d+\.\d+\.\d+/);
  assert.ok(site.requests.length >= 6, `only ${site.requests.length} requests`);
  for (const request of site.requests) assert.ok(request.startsWith(`GET ${site.base}`), request);
  await page.context().close();
});

test('index.html uses relative addresses only and contains no inline code', async () => {
  const html = (await readFile(`${DIST}/index.html`, 'utf8')).replace(/<!--[^]*?-->/g, '');
  for (const [, address] of html.matchAll(/\s(?:src|href|data-[a-z-]*(?:js|wasm|samples))="([^"]*)"/g)) {
    assert.match(address, /^(?:\.\/|data:)/);
  }
  assert.doesNotMatch(html, /<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)/i);
  assert.doesNotMatch(html, /https?:/);
});

test('all listed samples are in memory', async () => {
  const { browser, site } = given;
  const page = await openPage(browser, site.url);
  const samples = await page.evaluate(() =>
    globalThis.tracedrop.samples.map(({ blob, ...rest }) => ({ ...rest, bytes: blob.size })),
  );
  for (const sample of samples) {
    assert.ok(sample.bytes > 0, sample.id);
    for (const key of ['id', 'title', 'description', 'format', 'name']) assert.ok(sample[key], `${sample.id}: ${key}`);
  }
  await page.context().close();
});

test('the GPU sample is up to date with its generator', async () => {
  const path = (name) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
  const made = execFileSync(process.execPath, [path('tools/make-gpu-sample.mjs')], { encoding: 'utf8', maxBuffer: 4e6 });
  assert.ok(made === (await readFile(path('www/samples/gpu-serving.json'), 'utf8')), 'run tools/make-gpu-sample.mjs');
  assert.ok(made.length < 900_000, `${made.length} bytes are too many for a page that loads all samples`);
});

test('a worker can be started after the lock, again and again', async () => {
  const { browser, site } = given;
  const page = await openPage(browser, site.url);
  for (let n = 0; n < 2; n += 1) {
    const [worker] = await Promise.all([
      page.waitForEvent('worker'),
      page.evaluate(() => void globalThis.tracedrop.startWorker()),
    ]);
    assert.match(worker.url(), /^blob:/);
    assert.equal(await worker.evaluate(() => typeof wasm_bindgen), 'function');
  }
  assert.deepEqual(page.console, []);
  await page.context().close();
});

// Replaces the script from wasm-bindgen: a worker that starts slowly, then answers its messages.
async function withWorkerScript(script) {
  const { browser, site } = given;
  const page = await openPage(browser, 'about:blank', { ready: false });
  await page.route('**/worker-*.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }));
  await page.goto(site.url);
  await page.waitForFunction(() => globalThis.tracedrop?.locked);
  return page;
}

for (const [how, listen] of Object.entries({
  onmessage: '(onmessage = answer)',
  addEventListener: "addEventListener('message', answer)",
})) {
  test(`what is posted before the worker is ready arrives once and in order (${how})`, async () => {
    const page = await withWorkerScript(`
      const answer = ({ data }) => postMessage(data.text ?? data.buffer.byteLength);
      const wasm_bindgen = async ({ module_or_path }) => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        if (!(module_or_path instanceof WebAssembly.Module)) throw new Error('no module');
        ${listen};
      };`);
    const answers = await page.evaluate(
      () =>
        new Promise((resolve) => {
          const answers = [];
          const worker = globalThis.tracedrop.startWorker();
          worker.onmessage = ({ data }) => {
            answers.push(data);
            if (data === 'early') setTimeout(() => worker.postMessage({ text: 'last' }), 50);
            if (data === 'last') setTimeout(resolve, 50, answers);
          };
          const buffer = new ArrayBuffer(8);
          worker.postMessage({ buffer }, [buffer]);
          worker.postMessage({ text: 'early' });
        }),
    );
    assert.deepEqual(answers, [8, 'early', 'last']);
    await page.context().close();
  });
}

for (const [what, script] of Object.entries({
  'that cannot start': "const wasm_bindgen = async () => { throw new Error('out of order'); };",
  'with an unhandled rejection': "const wasm_bindgen = async () => { onmessage = () => void Promise.reject(new Error('out of order')); };",
})) {
  test(`a worker ${what} is reported to the page`, async () => {
    const page = await withWorkerScript(script);
    const message = await page.evaluate(
      () =>
        new Promise((resolve) => {
          const worker = globalThis.tracedrop.startWorker();
          worker.onerror = (event) => {
            event.preventDefault();
            resolve(event.message);
          };
          worker.postMessage({ text: 'go' });
        }),
    );
    assert.match(message, /out of order/);
    await page.context().close();
  });
}

test('a missing file is reported in the page', async () => {
  const { browser, site } = given;
  const page = await openPage(browser, 'about:blank', { ready: false });
  await page.route('**/*_bg.wasm', (route) => route.fulfill({ status: 404, body: '' }));
  await page.goto(site.url);
  const problem = page.locator('.boot-problem');
  await problem.filter({ hasText: 'could not start' }).waitFor();
  assert.match(await problem.textContent(), /_bg\.wasm could not be loaded: the server returned 404/);
  assert.equal(await page.locator('.boot-loading').isVisible(), false);
  await page.context().close();
});

test('without JavaScript the page says that it needs it', async () => {
  const { browser, site } = given;
  const page = await openPage(browser, site.url, { javaScriptEnabled: false, ready: false }).catch((error) => error);
  assert.ok(!(page instanceof Error), String(page));
  assert.match(await page.locator('#boot').textContent(), /allow JavaScript/);
  await page.context().close();
});
