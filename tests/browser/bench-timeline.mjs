// Zooming the timeline from all of a trace to one event and back, beside Perfetto's page with the same trace:
// node tests/browser/bench-timeline.mjs FILE…
//
// Each zoom jumps, and the time is until the picture is sharp: here until the new picture is drawn, in Perfetto until its own idle
// detector says so (nothing is asked, loading, moving, or to be drawn). Perfetto shows all tracks in full, as Tracedrop does. Both run
// in the same browser, one after the other in each round, so their ratio means more than the milliseconds.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { listen, staticServer } from '../../tools/static-server.mjs';
import { launchBrowser, openPage, showReport, startSite } from './support.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? 10);
const VIEWPORT = { width: 1600, height: 1000 };
/** Milliseconds without work after which Perfetto counts as idle; they do not count. */
const IDLE_MS = 100;
/** Longer than the pause after which an address follows the view. */
const REST_MS = 700;

const middle = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const longest = (numbers) => Math.max(...numbers);
const rest = () => new Promise((resolve) => setTimeout(resolve, REST_MS));

/** Perfetto's page with the file. Zooms to nanoseconds from the first event, or to all of the trace; returns milliseconds. */
async function perfettoWith(browser, url, path) {
  const page = await browser.newPage({ viewport: VIEWPORT });
  page.setDefaultTimeout(300_000);
  // Any page but the first one, which would ask a server for a trace.
  await page.goto(`${url}#!/flags`);
  await page.waitForFunction(() => globalThis.app && document.querySelector('.pf-ui-main'));
  await page.setInputFiles('input.trace_file', path);
  await page.waitForFunction(() => globalThis.app.trace && !globalThis.app.isLoadingTrace);
  const events = await page.evaluate(async () => {
    const { trace } = globalThis.app;
    for (const node of trace.workspace.flatTracks) if (node.hasChildren) node.expand();
    await globalThis.waitForPerfettoIdle(1000);
    const rows = async (sql) => {
      const result = await trace.engine.query(sql);
      const columns = result.columns();
      const rows = [];
      for (const row = result.iter({}); row.valid(); row.next()) rows.push(columns.map((column) => String(row.get(column))));
      return rows;
    };
    const [[first]] = await rows('select min(ts) from slice');
    globalThis.firstEvent = BigInt(first);
    return rows(`select ts - ${first}, dur, name from slice where dur between 2000 and 200000 order by ts`);
  });
  const zoom = (span) =>
    page.evaluate(
      async ([span, idleMs]) => {
        const { timeline, traceInfo } = globalThis.app.trace;
        const [from, to] = span ? span.map((ns) => globalThis.firstEvent + BigInt(ns)) : [traceInfo.start, traceInfo.end];
        const start = performance.now();
        timeline.setViewportTime(from, to);
        // It asks for data as it draws.
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        await globalThis.waitForPerfettoIdle(idleMs);
        return performance.now() - start - idleMs;
      },
      [span, IDLE_MS],
    );
  return { page, events, zoom };
}

/** The same of Tracedrop's page. */
async function tracedropWith(browser, url, path) {
  const page = await openPage(browser, url, { viewport: VIEWPORT });
  await page.getByTestId('file-input').setInputFiles(path);
  await page.locator('.file-head').waitFor({ timeout: 300_000 });
  await showReport(page, 'Timeline');
  await page.locator('ul[aria-label="Widest events in view"] li').first().waitFor({ state: 'attached' });
  const zoom = (span) =>
    page.evaluate(async (span) => {
      const listed = document.querySelector('ul[aria-label="Widest events in view"]');
      const bare = location.hash.replace(/&time=[^&]*/, '');
      // The list comes with a new picture, which the next frame draws.
      const drawn = new Promise((resolve) => {
        const watch = new MutationObserver(() => {
          watch.disconnect();
          requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
        });
        watch.observe(listed, { childList: true, subtree: true, characterData: true });
      });
      const start = performance.now();
      location.hash = span ? `${bare}&time=${span.join('-')}` : bare;
      return (await drawn) - start;
    }, span);
  const inView = () => page.locator('ul[aria-label="Widest events in view"] li').allTextContents();
  return { page, zoom, inView };
}

const files = process.argv.slice(2);
const folder = process.env.TRACEDROP_PERFETTO;
if (files.length === 0 || !folder) {
  console.error('usage: TRACEDROP_PERFETTO=FOLDER node tests/browser/bench-timeline.mjs FILE…');
  process.exit(2);
}
const site = await startSite();
const perfettoSite = staticServer(folder);
const port = await listen(perfettoSite);
const browser = await launchBrowser();
try {
  for (const path of files) {
    const perfetto = await perfettoWith(browser, `http://127.0.0.1:${port}/`, path);
    const tracedrop = await tracedropWith(browser, site.url, path);
    const times = { tracedrop: { in: [], out: [] }, perfetto: { in: [], out: [] } };
    for (let round = 0; round < ROUNDS; round += 1) {
      const [start, dur, name] = perfetto.events[Math.floor(((round + 0.5) / ROUNDS) * perfetto.events.length)];
      const [from, ns] = [Number(start), Number(dur)];
      const span = [Math.max(0, from - ns), from + 2 * ns];
      for (const [who, { page, zoom }] of Object.entries({ tracedrop, perfetto })) {
        await page.bringToFront();
        await rest();
        times[who].in.push(await zoom(span));
        // What was looked for shows.
        if (who === 'tracedrop') assert.ok((await tracedrop.inView()).length > 0, `${name} at ${start}`);
        await rest();
        times[who].out.push(await zoom(null));
      }
    }
    const both = Object.entries(times).map(([who, { in: to, out }]) => {
      const all = middle(to.map((ms, at) => ms + out[at]));
      return { all, text: `${who} ${all.toFixed(0)} ms (in ${middle(to).toFixed(0)}, out ${middle(out).toFixed(0)}, slowest ${longest([...to, ...out]).toFixed(0)})` };
    });
    console.log(
      `${basename(path)}, ${(statSync(path).size / 1e6).toFixed(0)} MB, ${perfetto.events.length} events to zoom to: all to one event and back, sharp: ` +
        `${both.map(({ text }) => text).join('; ')}; ${(both[1].all / both[0].all).toFixed(1)} times faster`,
    );
    await tracedrop.page.context().close();
    await perfetto.page.close();
  }
} finally {
  await browser.close();
  perfettoSite.close();
  await site.close();
}
