// Shared by all browser tests: the site on its own server, a browser, and a page that is ready.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { createServer as createTcpServer } from 'node:net';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { listen, staticServer } from '../../tools/static-server.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
/** The site under test; TRACEDROP_DIST selects another build, to compare two. */
export const DIST = process.env.TRACEDROP_DIST || here('../../dist');
export const OUTPUT = here('output');
/** The native command. */
export const COMMAND = here('../../target/debug/tracedrop');

export const WIDE = { width: 1280, height: 800 };
export const NARROW = { width: 390, height: 844 };

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The site under a random path, with a list of every request that reached the server. */
export async function startSite() {
  const requests = [];
  const base = `/some/${Math.random().toString(36).slice(2, 8)}/path/`;
  const server = staticServer(DIST, {
    base,
    onRequest: ({ method, url }) => requests.push(`${method} ${url}`),
  });
  const port = await listen(server);
  return {
    base,
    origin: `http://127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}${base}`,
    requests,
    close: () => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))),
  };
}

/** Stands for another computer: records everything that reaches it, down to a bare connection or one UDP packet. */
export async function startElsewhere() {
  const contacts = [];
  const tcp = createTcpServer((socket) => {
    contacts.push('tcp connection');
    socket.on('data', (data) => contacts.push(`tcp data: ${data.toString('latin1').split('\r\n')[0]}`));
    socket.on('error', () => {});
  });
  const port = await listen(tcp);
  const udp = createSocket('udp4');
  udp.on('message', () => contacts.push('udp packet'));
  await new Promise((resolve) => udp.bind(port, '127.0.0.1', resolve));
  return {
    port,
    contacts,
    close: () => (tcp.close(), udp.close()),
  };
}

export function launchBrowser() {
  return chromium.launch(chromiumOptions());
}

export function chromiumOptions() {
  return {
    executablePath: process.env.TRACEDROP_CHROME || process.env.CHROME || '/usr/bin/chromium',
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Pages of one context then share what the browser compiled; see `PageShop`.
      '--process-per-site',
    ],
  };
}

/**
 * A page in a fresh context, loaded and locked.
 * `page.console` collects errors and warnings, `page.violations` what the policy blocked (directive and address).
 */
export async function openPage(
  browser,
  url,
  // Keeping the whole site for offline use is a third of the time a page takes to start.
  { viewport = WIDE, colorScheme = 'light', ready = true, slowReading = false, serviceWorkers = 'block', ...context } = {},
) {
  const inContext = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce', serviceWorkers, ...context });
  return openPageIn(inContext, url, { ready, slowReading, serviceWorkers });
}

async function openPageIn(inContext, url, { ready, slowReading, serviceWorkers, emulate = async () => {} }) {
  const page = await inContext.newPage();
  await emulate(page);
  // Other tests run in parallel.
  page.setDefaultTimeout(90_000);
  page.console = [];
  page.violations = [];
  page.on('console', (message) => {
    // Expected: the test blocks service workers.
    if (serviceWorkers === 'block' && message.text().startsWith('Service Worker registration blocked')) return;
    if (['error', 'warning'].includes(message.type())) page.console.push(`${message.type()}: ${message.text()}`);
  });
  // Choosers are caught from the first listener on, and that takes longer than pressing a key.
  page.on('filechooser', () => {});
  page.on('pageerror', (error) => page.console.push(`uncaught: ${error.message}`));
  page.on('crash', () => page.console.push('the page crashed'));
  await page.exposeFunction('__violation', (text) => page.violations.push(text));
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) =>
      globalThis.__violation(`${event.effectiveDirective} ${event.blockedURI}`),
    );
  });
  if (slowReading) await page.addInitScript(slowDownReading, slowReading === 'held');
  await page.goto(url);
  if (ready) await waitUntilReady(page);
  return page;
}

/** [`openPage`] with the service worker that keeps the site offline, as people have it. */
export const openPageWithServiceWorker = (browser, url, options) => openPage(browser, url, { serviceWorkers: 'allow', ...options });

/**
 * Runs in the page before the site does: its workers get the first 4 MiB of a stream at once, then one chunk per second, so
 * that tests of a page that is parsing do not depend on its speed. With `held`, they are 8 KiB, until [`release`] has been called
 * with n for the nth such stream of a worker.
 */
function slowDownReading(held) {
  const inWorker = (held) => {
    const { read } = ReadableStreamBYOBReader.prototype;
    const bytes = new WeakMap();
    const numbers = new WeakMap();
    let nStreams = 0;
    let nReleased = 0;
    if (held) new BroadcastChannel('slow-reading').onmessage = ({ data }) => (nReleased = Math.max(nReleased, data));
    ReadableStreamBYOBReader.prototype.read = async function (view, options) {
      if (bytes.get(this) >= 4 << 20) {
        if (!numbers.has(this)) numbers.set(this, (nStreams += 1));
        if (!held) await new Promise((resolve) => setTimeout(resolve, 1000));
        else if (numbers.get(this) > nReleased) {
          await new Promise((resolve) => setTimeout(resolve, 200));
          [view, options] = [new Uint8Array(view.buffer, view.byteOffset, Math.min(view.byteLength, 1 << 13)), {}];
        }
      }
      const result = await read.call(this, view, options);
      // Reads overlap.
      bytes.set(this, (bytes.get(this) ?? 0) + (result.value?.byteLength ?? 0));
      return result;
    };
  };
  const { createObjectURL } = URL;
  URL.createObjectURL = (blob) => {
    const isScript = blob instanceof Blob && blob.type === 'text/javascript';
    return createObjectURL.call(URL, isScript ? new Blob([`(${inWorker})(${held});\n`, blob], { type: blob.type }) : blob);
  };
}

/** Lets the first n streams go on that a page with `slowReading: 'held'` holds. */
export const release = (page, n) => page.evaluate((n) => new BroadcastChannel('slow-reading').postMessage(n), n);

/** In the page: whether it is locked and the app has replaced the loading message. */
export const isReady = () => globalThis.tracedrop?.locked && !document.getElementById('boot');

/** Waits until the page is ready. */
export async function waitUntilReady(page, timeout = 60_000) {
  await page.waitForFunction(isReady, null, { timeout });
}

/** Drops files and folders on the page, again when Chromium loses the drop, as it may on a busy machine. */
export async function drop(page, files) {
  await page.evaluate(() => {
    globalThis.isDropped = false;
    addEventListener('drop', () => { globalThis.isDropped = true; }, { capture: true, once: true });
  });
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (let n = 1; ; n++) {
    for (const type of ['dragEnter', 'dragOver', 'drop']) await session.send('Input.dispatchDragEvent', { type, x: 300, y: 300, data });
    const isDropped = await page.waitForFunction(() => globalThis.isDropped, null, { timeout: 10_000 }).catch((error) => {
      if (n === 3) throw error;
    });
    if (isDropped) break;
  }
  await session.detach();
}

/**
 * Presses `key` in `region` until it scrolls. Chromium may drop a keyboard scroll of a box that was just laid out: the page
 * gets the key and `scrollend`, but the box does not move.
 */
export async function scrollBy(region, key) {
  const top = () => region.evaluate((box) => box.scrollTop);
  const before = await top();
  for (let n = 0; n < 10; n += 1) {
    await region.press(key);
    for (let wait = 0; wait < 20; wait += 1) {
      if ((await top()) !== before) return;
      await region.page().waitForTimeout(50);
    }
  }
  throw new Error(`${key} does not scroll from ${before}`);
}

/** Findings of axe: one line per rule and element, empty if there are none. */
export async function accessibilityProblems(page) {
  // The debugger is exempt from the page's policy.
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    const isDimmed = () => Boolean(document.querySelector('.table-stale'));
    for (let attempt = 1; ; attempt += 1) {
      // Rows that are being sorted or filtered are dimmed for a moment, which may begin only now: that run doesn't count.
      for (let wait = 0; isDimmed() && wait < 100; wait += 1) await new Promise((resolve) => setTimeout(resolve, 100));
      // And is undimmed by an animation, if only of one frame.
      await Promise.all(document.getAnimations().map(({ effect, finished }) => effect.getComputedTiming().endTime < Infinity && finished.catch(() => {})));
      let wasDimmed = false;
      const watch = new MutationObserver(() => (wasDimmed ||= isDimmed()));
      watch.observe(document, { subtree: true, childList: true, attributeFilter: ['class'] });
      const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] });
      watch.disconnect();
      if (!wasDimmed || attempt === 5) {
        return violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.target.join(' ')}`));
      }
    }
  });
}

/** Shows a report of the open tab. On a phone the list of reports is one field. */
export async function showReport(page, title) {
  const list = page.getByRole('navigation', { name: 'Reports' });
  await list.waitFor();
  const field = list.getByRole('combobox');
  if (await field.isVisible()) await field.selectOption({ label: title });
  else await list.getByRole('button', { name: title, exact: true }).click();
}

/** For test files: a site and a browser for the whole file. */
export function siteAndBrowser() {
  const given = {};
  before(async () => {
    given.site = await startSite();
    given.browser = await launchBrowser();
  });
  after(async () => {
    await given.browser?.close();
    await given.site?.close();
  });
  return given;
}

/**
 * Pages for the tests of a file, one after the other, in one context whose storage is emptied between them. A page of another
 * origin of the same site stays open, which keeps their process, and with it the compiled programs: that halves what a page costs.
 */
class PageShop {
  constructor(given) {
    this.given = given;
  }

  async open({ viewport = WIDE, colorScheme = 'light', ready = true, slowReading = false } = {}) {
    if (!this.context) {
      this.context = await this.given.browser.newContext({ viewport: WIDE, reducedMotion: 'reduce', serviceWorkers: 'block' });
      this.other = await startSite();
      this.anchor = await openPageIn(this.context, this.other.url, { ready: true, serviceWorkers: 'block' });
    }
    const emulate = async (page) => {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    };
    return openPageIn(this.context, this.given.site.url, { ready, slowReading, serviceWorkers: 'block', emulate });
  }

  /** After a test: as in a new context, or none if it failed. */
  async clean(isFine) {
    const { context, anchor } = this;
    if (!isFine || anchor.isClosed()) return this.close();
    for (const page of context.pages()) if (page !== anchor) await page.close();
    await context.unrouteAll();
    await context.clearPermissions();
    await context.clearCookies();
    const session = await context.newCDPSession(anchor);
    const { origin } = new URL(this.given.site.url);
    await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
    await session.detach();
  }

  async close() {
    const { context, other } = this;
    this.context = undefined;
    await context?.close();
    await other?.close();
  }
}

/** What a page of a [`PageShop`] can be opened with; other options need a context of their own. */
const SHARED = ['viewport', 'colorScheme', 'ready', 'slowReading'];

/** For test files: tests with their own page; nothing may be logged or blocked meanwhile. */
export function pageTests(given) {
  const shop = new PageShop(given);
  after(() => shop.close());
  return (name, run, options = {}) =>
    test(name, { timeout: 300_000 }, async () => {
      const isShared = Object.keys(options).every((option) => SHARED.includes(option));
      const page = await (isShared ? shop.open(options) : openPage(given.browser, given.site.url, options));
      let isFine = false;
      try {
        await run(page);
        assert.deepEqual(page.console, []);
        assert.deepEqual(page.violations, []);
        isFine = true;
      } finally {
        await (isShared ? shop.clean(isFine) : page.context().close());
      }
    });
}

/**
 * Replaces Perfetto's page for all pages of this context: does the handshake and keeps what it receives. `silent` does not
 * answer.
 */
export async function standInForPerfetto(context, { silent = false } = {}) {
  await context.route('https://ui.perfetto.dev/**', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<!doctype html><title>stand-in</title><script>
        globalThis.pings = 0;
        addEventListener('message', ({ data, source, origin }) => {
          if (data === 'PING' && ${!silent}) { globalThis.pings += 1; source.postMessage('PONG', origin); return; }
          if (data?.perfetto) globalThis.given = data.perfetto;
        });
      </script>`,
    }),
  );
}

/** The complete slices in a Perfetto trace, as events of a Chrome trace: the command converts it. */
export function slicesIn(bytes) {
  const folder = mkdtempSync(join(tmpdir(), 'pftrace-'));
  const file = join(folder, 'a.pftrace');
  writeFileSync(file, bytes);
  const json = execFileSync(COMMAND, ['export', file, '--to', 'chrome-trace'], { maxBuffer: 1e9, stdio: ['ignore', 'pipe', 'pipe'] });
  rmSync(folder, { recursive: true });
  return JSON.parse(json.toString()).traceEvents.filter(({ ph }) => ph === 'X');
}

/** What that page received: `{ title, bytes }`. */
export async function givenToPerfetto(perfetto) {
  await perfetto.waitForFunction(() => globalThis.given);
  const { title, base64 } = await perfetto.evaluate(async () => {
    const bytes = new Uint8Array(globalThis.given.buffer);
    let text = '';
    for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    return { title: globalThis.given.title, base64: btoa(text) };
  });
  return { title, bytes: Buffer.from(base64, 'base64') };
}
