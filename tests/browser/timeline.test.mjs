// The timeline: what is drawn, what it says of an event, and the ways in it.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { NARROW, accessibilityProblems, pageTests, showReport, siteAndBrowser } from './support.mjs';

const sample = (name) => fileURLToPath(new URL(`../../www/samples/${name}`, import.meta.url));
const pageTest = pageTests(siteAndBrowser());

const MS = 1000;
/** Two threads: a step of 400 µs with a kernel launch in it, and 2,000 events of one microsecond. */
const trace = () => {
  const events = [
    { ph: 'M', name: 'thread_name', pid: 1, tid: 1, args: { name: 'main' } },
    { ph: 'M', name: 'thread_name', pid: 1, tid: 2, args: { name: 'busy' } },
    { ph: 'X', name: 'step', pid: 1, tid: 1, ts: 0, dur: 400, args: { batch: 16 } },
    { ph: 'X', name: 'launch', pid: 1, tid: 1, ts: 100, dur: 50 },
    { ph: 'X', name: 'step', pid: 1, tid: 1, ts: 3 * MS, dur: 600 },
    { ph: 'C', name: 'queue', pid: 1, ts: 0, args: { depth: 4 } },
    { ph: 'C', name: 'queue', pid: 1, ts: 2 * MS, args: { depth: 8 } },
  ];
  for (let i = 0; i < 2000; i += 1) {
    events.push({ ph: 'X', name: i % 2 ? 'odd' : 'even', pid: 1, tid: 2, ts: i * 2, dur: 1 });
  }
  return { name: 'made.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(events)) };
};

async function openTimeline(page, file) {
  await page.getByTestId('file-input').setInputFiles(file);
  await page.locator('.file-head').waitFor();
  const choice = page.locator('[role=tabpanel]:not([hidden]) .report-choice select');
  if (await choice.isVisible()) {
    await choice.selectOption('timeline');
  } else {
    await showReport(page, 'Timeline');
  }
  await page.locator('.timeline-view canvas').waitFor();
  await page.locator('ul[aria-label="Widest events in view"] li').first().waitFor({ state: 'attached' });
  return page.locator('.timeline-view');
}

/** Height of a track's first row on the canvas. */
async function rowOf(page, track) {
  const title = await page.getByRole('button', { name: track }).first().boundingBox();
  const view = await page.locator('.timeline-view').boundingBox();
  return { x: view.x, width: view.width, y: title.y + 9 };
}

/** Whether something is drawn at a place: another color than the paper. */
const isDrawn = (page, x, y) =>
  page.locator('.timeline-view canvas').evaluate((canvas, [x, y]) => {
    const box = canvas.getBoundingClientRect();
    const scale = canvas.width / box.width;
    const copy = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, -Math.floor((x - box.x) * scale), -Math.floor((y - box.y) * scale));
    return copy.getImageData(0, 0, 1, 1).data[3] > 60;
  }, [x, y]);

const panel = (page) => page.getByRole('complementary', { name: 'Details' });

pageTest('an event is drawn where it is, and a click tells all about it', async (page) => {
  await openTimeline(page, trace());
  const main = await rowOf(page, 'main');
  // Of 4 ms, the first step has the first tenth and the second one begins after three quarters.
  const span = 3999;
  const at = (us) => main.x + (main.width * us) / span;
  assert.ok(await isDrawn(page, at(200), main.y));
  assert.ok(!(await isDrawn(page, at(1500), main.y)));
  assert.ok(await isDrawn(page, at(3300), main.y));
  await page.mouse.click(at(300), main.y);
  await panel(page).getByRole('heading', { name: 'step' }).waitFor();
  const text = await panel(page).innerText();
  for (const part of ['400.0 µs', '350.0 µs', 'batch', '16', 'launch', '50.00 µs', 'number 1 of 2', '2nd longest']) {
    assert.ok(text.includes(part), `${part}: ${text}`);
  }
  // The next one of its name, by key.
  await page.locator('.timeline-view').focus();
  await page.keyboard.press(']');
  await panel(page).getByText('600.0 µs').first().waitFor();
  await page.keyboard.press('Escape');
  await panel(page).waitFor({ state: 'detached' });
});

pageTest('Ctrl and the wheel zoom at the pointer, 0 shows all again, and Back undoes it', async (page) => {
  const view = await openTimeline(page, trace());
  const main = await rowOf(page, 'main');
  await page.mouse.move(main.x + main.width / 20, main.y);
  await page.keyboard.down('Control');
  for (let i = 0; i < 5; i += 1) {
    await page.mouse.wheel(0, -400);
  }
  await page.keyboard.up('Control');
  await page.waitForFunction(() => /time=\d+-\d+/.test(location.hash));
  const [, from, to] = (await page.evaluate(() => location.hash)).match(/time=(\d+)-(\d+)/);
  assert.ok(to - from < 400_000 && from < 200_000 && to > 200_000, `${from} to ${to}`);
  // The step fills the row now.
  await page.waitForTimeout(300);
  assert.ok(await isDrawn(page, main.x + main.width * 0.3, main.y));
  await page.goBack();
  await page.waitForFunction(() => !location.hash.includes('time='));
  await page.waitForFunction(() => location.hash.includes('report=timeline'));
  await page.goForward();
  await page.waitForFunction(() => location.hash.includes('time='));
  await view.focus();
  await page.keyboard.press('0');
  await page.waitForFunction(() => !location.hash.includes('time='));
});

pageTest('screen readers have the tracks as a tree, which keys walk, and hear what is in view', async (page) => {
  await openTimeline(page, trace());
  const tree = page.getByRole('tree', { name: /^Timeline/ });
  await tree.focus();
  await page.getByRole('status').filter({ hasText: /^0 ns to 3\.999 ms, 3 of 3 tracks, \d events? with a name$/ }).waitFor({ state: 'attached' });
  const current = tree.locator('[aria-selected=true]');
  const goesTo = async (key, text, level) => {
    await page.keyboard.press(key);
    await current.filter({ hasText: text }).waitFor({ state: 'attached' });
    assert.equal(await current.getAttribute('aria-level'), `${level}`);
    assert.equal(await tree.getAttribute('aria-activedescendant'), await current.getAttribute('id'));
  };
  assert.equal(await tree.getByRole('treeitem').count(), 3);
  assert.equal(await current.count(), 0);
  await goesTo('Shift+ArrowDown', /^busy \(2\), .*: 2,000 events, busy 50\.\d% of the time$/, 1);
  await goesTo('ArrowDown', /^main \(1\), .*: 3 events, busy 25\.\d% of the time$/, 1);
  // As the browser hands it on.
  const snapshot = await tree.ariaSnapshot();
  assert.match(snapshot, /treeitem "main[^\n]*\[expanded\][^\n]*\[level=1\][^\n]*\[selected\]/, snapshot);
  assert.match(snapshot, /treeitem "step, 400\.0 µs at 0 ns"[^\n]*\[level=2\]/, snapshot);
  await goesTo('ArrowRight', /^step, 400\.0 µs at 0 ns$/, 2);
  await page.getByRole('status').filter({ hasText: /^step, 400\.0 µs, on main \(1\)$/ }).waitFor({ state: 'attached' });
  await goesTo('ArrowDown', /^launch, /, 3);
  await goesTo('ArrowUp', /^step, 400/, 2);
  await goesTo('ArrowRight', /^step, 600\.0 µs at 3\.000 ms$/, 2);
  assert.deepEqual(await accessibilityProblems(page), []);
  await goesTo('Escape', /^main \(1\), /, 1);
  await goesTo('End', /^queue/, 1);
  await goesTo('Home', /^busy \(2\), /, 1);
  await page.keyboard.press('Escape');
  await current.waitFor({ state: 'detached' });
  // The arrows move the view again.
  await page.keyboard.press('w');
  await page.keyboard.press('ArrowRight');
  await page.getByRole('status').filter({ hasText: /^\d+\.\d+ µs to / }).waitFor({ state: 'attached' });
});

pageTest('a selected stretch adds up what is in it', async (page) => {
  await openTimeline(page, trace());
  const main = await rowOf(page, 'main');
  const at = (us) => main.x + (main.width * us) / 3999;
  await page.keyboard.down('Shift');
  await page.mouse.move(at(0) + 1, main.y);
  await page.mouse.down();
  await page.mouse.move(at(1000), main.y, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  const row = panel(page).getByRole('row', { name: /^step/ });
  await row.waitFor();
  const [count, total] = await row.getByRole('cell').allInnerTexts();
  assert.equal(count, '1');
  assert.match(total, /^39\d\.\d µs$|^400\.0 µs$/);
  const odd = Number((await panel(page).getByRole('row', { name: /^odd/ }).getByRole('cell').allInnerTexts())[0]);
  assert.ok(odd > 240 && odd <= 251, `${odd}`);
  await panel(page).getByText('queue: depth').waitFor();
});

pageTest('a search counts all matches and steps through them', async (page) => {
  await openTimeline(page, trace());
  const search = page.getByRole('searchbox', { name: 'Find events by name' });
  // What can be typed stands in the field in full.
  const { room, text } = await search.evaluate((field) => {
    const context = document.createElement('canvas').getContext('2d');
    const { font, paddingLeft, paddingRight } = getComputedStyle(field);
    context.font = font;
    return { room: field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight), text: context.measureText(field.placeholder).width };
  });
  assert.ok(text > 100 && text <= room, `${text} in ${room}`);
  const height = async () => (await page.locator('.timeline-tools').boundingBox()).height;
  const before = await height();
  await search.fill('OD');
  await page.getByText('1 of 1,000', { exact: true }).waitFor();
  // The timeline stays where it is.
  assert.equal(await height(), before);
  await search.press('Enter');
  await page.getByText('2 of 1,000', { exact: true }).waitFor();
  await search.press('Shift+Enter');
  await page.getByText('1 of 1,000', { exact: true }).waitFor();
  await page.waitForFunction(() => location.hash.includes('find=OD'));
  await search.fill('nothing like it');
  await page.getByText('no match').waitFor();
});

pageTest('a search of arguments counts and steps through events, also while it reads them', async (page) => {
  await openTimeline(page, trace());
  const search = page.getByRole('searchbox', { name: 'Find events by name' });
  await search.fill('arg:"batch":16');
  await page.getByText('1 of 1', { exact: true }).waitFor();
  await panel(page).getByRole('heading', { name: 'step' }).waitFor();
  await page.waitForFunction(() => location.hash.includes('find=arg'));
  await search.fill('arg:/(/');
  await page.locator('.timeline-count').getByText(/paren|group/i).waitFor();
  await search.fill('arg:nothing like it');
  await page.getByText('no match', { exact: true }).waitFor();
});

pageTest('long arguments are searched piece by piece', async (page) => {
  const long = Array.from({ length: 6000 }, (_, i) => ({
    ph: 'X', name: `call ${i % 3}`, pid: 1, tid: 1, ts: i * 2, dur: 1, args: { number: `<${i}>`, text: 'x'.repeat(4000) },
  }));
  // Wide enough for the list of what is in view.
  long.unshift({ ph: 'X', name: 'all', pid: 1, tid: 1, ts: 0, dur: 12_000 });
  await openTimeline(page, { name: 'long.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(long)) });
  const search = page.getByRole('searchbox', { name: 'Find events by name' });
  // What shows on the way, for 24 MB.
  await page.evaluate(() => {
    globalThis.counts = [];
    const count = document.querySelector('.timeline-count');
    new MutationObserver(() => globalThis.counts.push(count.textContent)).observe(count, { subtree: true, childList: true, characterData: true });
  });
  await search.fill('arg:/<[0-9]+7>/');
  await page.getByText('1 of 599', { exact: true }).waitFor();
  const counts = await page.evaluate(() => globalThis.counts);
  assert.ok(counts.some((text) => /^1 of \d+ so far, \d0% searched$/.test(text)), counts.join());
  await search.press('Shift+Enter');
  await page.getByText('599 of 599', { exact: true }).waitFor();
});

pageTest('boxes are colored by operation, and by phase where steps have one', async (page) => {
  await openTimeline(page, sample('gpu-serving.json'));
  const colors = page.locator('.timeline-tools select');
  const legend = page.getByRole('list', { name: 'Color by' });
  await colors.selectOption('operation');
  await legend.getByText('GEMM', { exact: true }).waitFor();
  await colors.selectOption('phase');
  await legend.getByText('prefill', { exact: true }).waitFor();
  await legend.getByText('decode', { exact: true }).waitFor();
  await page.waitForFunction(() => location.hash.includes('colors=phase'));
  assert.deepEqual(await accessibilityProblems(page), []);
});

pageTest('phases are no colors of a trace without any', async (page) => {
  await openTimeline(page, trace());
  const choices = page.locator('.timeline-tools select option');
  assert.deepEqual(await choices.allTextContents(), ['name', 'category', 'operation']);
});

pageTest('keys alone lead from event to event', async (page) => {
  await openTimeline(page, sample('serving.json'));
  await page.locator('.timeline-view').focus();
  await page.keyboard.press('/');
  await page.keyboard.type('step');
  await page.getByText(/^1 of /).waitFor();
  await page.locator('.timeline-view').focus();
  const name = async () => panel(page).getByRole('heading').first().innerText();
  await panel(page).waitFor();
  const first = await name();
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction((first) => document.querySelector('.timeline-panel h3')?.textContent !== first, first);
  await page.keyboard.press('ArrowUp');
  await page.waitForFunction((first) => document.querySelector('.timeline-panel h3')?.textContent === first, first);
  await page.keyboard.press('f');
  await page.waitForFunction(() => location.hash.includes('time='));
});

pageTest('keys zoom and pan wherever the focus is, and close or leave nothing', async (page) => {
  const view = await openTimeline(page, trace());
  const hasFocus = () => view.evaluate((view) => document.activeElement === view);
  assert.ok(!(await hasFocus()));
  const goesTo = async (key, changes) => {
    const before = await page.evaluate(() => location.hash);
    await page.keyboard.press(key);
    await page.waitForFunction((before) => location.hash !== before, before);
    assert.equal(await view.isVisible(), true, key);
    assert.match(await page.evaluate(() => location.hash), changes);
  };
  for (const key of ['w', 'd', 'a', 's', 'w']) await goesTo(key, /report=timeline/);
  await goesTo('0', /^(?!.*time=)/);
  // From event to event of one name.
  const main = await rowOf(page, 'main');
  await page.mouse.click(main.x + main.width * 0.07, main.y);
  await panel(page).getByText('400.0 µs').first().waitFor();
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press(']');
  await panel(page).getByText('600.0 µs').first().waitFor();
  await page.keyboard.press('f');
  await page.waitForFunction(() => location.hash.includes('time='));
  // What closes the details gives the timeline the focus.
  await panel(page).getByRole('button', { name: 'Close details' }).click();
  await panel(page).waitFor({ state: 'detached' });
  assert.ok(await hasFocus());
  assert.equal(await page.getByRole('tab').count(), 1);
  // Elsewhere the keys are those of files.
  await showReport(page, 'Slices by name');
  await page.keyboard.press('w');
  await page.getByRole('tab').waitFor({ state: 'detached' });
});

pageTest('a drag in the load above a report selects a time range there, a click leads to the timeline', async (page) => {
  await page.getByTestId('file-input').setInputFiles(sample('gpu-serving.json'));
  await page.locator('.file-head').waitFor();
  const strip = page.locator('.load-strip canvas');
  await page.getByRole('button', { name: 'GPU busy' }).waitFor();
  const box = await strip.boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 12, { steps: 3 });
  await page.mouse.up();
  const chosen = page.getByRole('group', { name: 'Selected time range' });
  // The report stays, with what is in that time.
  await chosen.getByText(/^7\.\d+ ms selected, [\d,]+ events$/).waitFor();
  await chosen.getByText(/^GPU 0 · python3 \(0\): busy 5\.\d+ ms, no activity recorded for 2\.\d+ ms$/).waitFor();
  assert.equal(await page.getByRole('heading', { name: 'Timeline', exact: true }).count(), 0);
  await page.waitForFunction(() => location.hash.includes('stretch=') && !location.hash.includes('report=timeline'));
  const [, from, to] = (await page.evaluate(() => location.hash)).match(/stretch=(\d+)-(\d+)/);
  // A quarter of 29.43 ms.
  assert.ok(Math.abs(to - from - 7_357_000) < 200_000, `${from} to ${to}`);
  assert.deepEqual(await accessibilityProblems(page), []);
  // Other reports have it too, and Back undoes it.
  await showReport(page, 'Findings');
  assert.equal(await chosen.isVisible(), true);
  await page.goBack();
  await page.goBack();
  await chosen.waitFor({ state: 'detached' });
  await page.goForward();
  await chosen.getByRole('button', { name: 'Show in the timeline' }).click();
  await panel(page).getByRole('heading', { name: /^7\.\d+ ms selected, / }).waitFor();
  await showReport(page, 'Findings');
  await chosen.getByRole('button', { name: 'Clear the selection' }).click();
  await chosen.waitFor({ state: 'detached' });
  await page.waitForFunction(() => !location.hash.includes('stretch='));
  // A twentieth of the trace around a click.
  await page.mouse.click(box.x + box.width * 0.5, box.y + 10);
  await page.getByRole('heading', { name: 'Timeline', exact: true }).waitFor();
  await page.waitForFunction(() => /report=timeline.*time=/.test(location.hash));
});

pageTest('a time range that is selected above a report can have a report of its own', async (page) => {
  await page.getByTestId('file-input').setInputFiles(sample('gpu-serving.json'));
  await page.getByRole('button', { name: 'GPU busy' }).waitFor();
  const box = await page.locator('.load-strip canvas').boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 12, { steps: 3 });
  await page.mouse.up();
  await page.getByRole('button', { name: 'Report on this range only' }).click();
  await page.getByTestId('range').waitFor();
  await page.getByRole('group', { name: 'Selected time range' }).waitFor({ state: 'detached' });
});

for (const viewport of [undefined, NARROW]) {
  pageTest(
    `the timeline has no accessibility problems, ${viewport ? 'narrow' : 'wide'}`,
    async (page) => {
      await openTimeline(page, sample('gpu-serving.json'));
      assert.deepEqual(await accessibilityProblems(page), []);
      const { width, scroll } = await page.evaluate(() => ({
        width: innerWidth,
        scroll: document.documentElement.scrollWidth,
      }));
      assert.ok(scroll <= width, `${scroll} px`);
    },
    viewport ? { viewport } : undefined,
  );
}

for (const viewport of [undefined, NARROW]) {
  pageTest(
    `the details leave the selected event in view, ${viewport ? 'narrow' : 'wide'}`,
    async (page) => {
      await openTimeline(page, sample('gpu-serving.json'));
      await page.getByRole('searchbox', { name: 'Find events by name' }).fill('execute_model');
      await panel(page).getByRole('heading', { name: /execute_model/ }).waitFor();
      await panel(page).getByText('In the reports').waitFor();
      // Below _run_engine and step: the third row of its track.
      await page.waitForFunction(() => {
        const titles = [...document.querySelectorAll('.timeline-titles button')];
        const track = titles.find((title) => title.textContent.includes('thread 71')).getBoundingClientRect();
        const details = document.querySelector('.timeline-panel').getBoundingClientRect();
        const header = document.querySelector('.header').getBoundingClientRect();
        return track.top + 2 * 18 >= header.bottom + 26 && track.top + 3 * 18 <= details.top;
      });
      const { height } = await panel(page).boundingBox();
      const window = await page.evaluate(() => innerHeight);
      assert.ok(height <= window * 0.43, `${height} of ${window}`);
      // Numbers keep their units beside them.
      const heights = await panel(page).locator('.unit').evaluateAll((units) => units.map((unit) => unit.getBoundingClientRect().height));
      assert.ok(heights.every((height) => height < 30), `${heights}`);
    },
    viewport ? { viewport } : undefined,
  );
}

pageTest('a row of a table leads to all events of its name', async (page) => {
  await page.getByTestId('file-input').setInputFiles(trace());
  await page.locator('.file-head').waitFor();
  await showReport(page, 'Slices by name');
  const row = page.locator('[role=tabpanel]:not([hidden]) .report:not([hidden]) tbody tr').filter({ hasText: 'odd' }).first();
  await row.focus();
  await row.press('Enter');
  await page.getByRole('menuitem', { name: 'Show in the timeline' }).press('Enter');
  await page.getByRole('heading', { name: 'Timeline', exact: true }).waitFor();
  await page.getByText('1 of 1,000', { exact: true }).waitFor();
  // The keys of the timeline work at once.
  await page.waitForFunction(() => document.activeElement?.className === 'timeline-view');
});

pageTest('tracks are filtered and pinned, and two marks select what is between them', async (page) => {
  const view = await openTimeline(page, trace());
  const titles = () => page.locator('.timeline-titles .timeline-name').allTextContents();
  const all = await titles();
  assert.ok(all.length >= 3, all.join());
  await page.getByRole('searchbox', { name: 'Filter tracks' }).fill('busy');
  await page.waitForFunction(() => document.querySelectorAll('.timeline-titles .timeline-name').length === 1);
  await page.getByRole('searchbox', { name: 'Filter tracks' }).fill('');
  await page.waitForFunction((n) => document.querySelectorAll('.timeline-titles .timeline-name').length === n, all.length);
  const last = all.at(-1);
  await page.getByRole('button', { name: `Pin ${last} to the top` }).press('Enter');
  await page.waitForFunction((name) => document.querySelector('.timeline-titles .timeline-name').textContent === name, last);
  const { x, y } = await view.boundingBox();
  await view.focus();
  await page.mouse.move(x + 100, y + 60);
  await page.keyboard.press('m');
  await page.mouse.move(x + 300, y + 60);
  await page.keyboard.press('m');
  await panel(page).getByRole('heading', { name: /selected/ }).waitFor();
});

pageTest('an event leads to its rows in the reports, and a finding to its events', async (page) => {
  await openTimeline(page, sample('gpu-serving.json'));
  await showReport(page, 'Findings');
  await page.getByRole('button', { name: 'Show in the timeline' }).first().click();
  await page.locator('.timeline-count').getByText(/^1 of \d+$/).waitFor();
  await page.getByRole('searchbox', { name: 'Find events by name' }).press('Enter');
  await panel(page).getByRole('button', { name: 'Copy as JSON' }).waitFor();
  await panel(page).getByRole('button', { name: 'Kernels › Kernels by name' }).click();
  await page.locator('.report:not([hidden]) tr[aria-selected=true]').waitFor();
});

pageTest('a host-bound finding leads to its gaps, the longest first', async (page) => {
  await openTimeline(page, sample('gpu-serving.json'));
  await showReport(page, 'Findings');
  const finding = page.locator('.finding').filter({ hasText: /Host-bound: the GPU/ });
  await finding.getByRole('button', { name: 'Idle and launch: Longest gaps' }).waitFor();
  await finding.getByRole('button', { name: 'Show in the timeline' }).click();
  const count = page.locator('.timeline-count');
  await count.getByText(/^time 1 of \d+$/).waitFor();
  const stretch = () => page.evaluate(() => location.hash.match(/stretch=(\d+)-(\d+)/)?.slice(1).map(Number));
  await page.waitForFunction(() => location.hash.includes('stretch='));
  // No name is searched for: that of the kernel after a gap is no name of the gap.
  assert.equal(await page.evaluate(() => location.hash.includes('find=')), false);
  const first = await stretch();
  await page.getByRole('button', { name: 'Next match (Enter)' }).click();
  await count.getByText(/^time 2 of \d+$/).waitFor();
  await page.waitForFunction((from) => !location.hash.includes(`stretch=${from}-`), first[0]);
  const second = await stretch();
  assert.ok(second[1] - second[0] <= first[1] - first[0], `${first}, ${second}`);
  await page.locator('.timeline-view').focus();
  await page.keyboard.press('Escape');
  await count.getByText('time').waitFor({ state: 'detached' });
});

pageTest('what leads to the timeline is one step back', async (page) => {
  await openTimeline(page, sample('gpu-serving.json'));
  await showReport(page, 'Findings');
  const heading = page.getByRole('heading', { name: 'Findings', exact: true });
  await heading.waitFor();
  await page.locator('.finding').filter({ hasText: /Host-bound: the GPU/ }).getByRole('button', { name: 'Show in the timeline' }).click();
  await page.waitForFunction(() => /report=timeline.*stretch=/.test(location.hash));
  const longest = await page.evaluate(() => location.hash);
  await page.goBack();
  await heading.waitFor();
  await page.goForward();
  await page.waitForFunction((longest) => location.hash === longest, longest);
  // What is done there is a step of its own.
  await page.getByRole('button', { name: 'Next match (Enter)' }).click();
  await page.waitForFunction((longest) => location.hash.includes('stretch=') && location.hash !== longest, longest);
  await page.goBack();
  await page.waitForFunction((longest) => location.hash === longest, longest);
});

pageTest('a comparison has both timelines, which move together', async (page) => {
  const pytorch = (name) => fileURLToPath(new URL(`../data/pytorch/${name}`, import.meta.url));
  await page.getByTestId('file-input').setInputFiles([pytorch('small-bert-h100.json.gz'), pytorch('small-bert-mi300.json.gz')]);
  await page.locator('[role=tab][aria-selected=true]').filter({ hasText: '↔' }).or(page.locator('[role=tab][title*="↔"][aria-selected=true]')).first().waitFor();
  await showReport(page, 'Timeline');
  const views = page.locator('[role=tabpanel]:not([hidden]) .timeline-view');
  await views.nth(1).waitFor();
  assert.equal(await views.count(), 2);
  const before = await views.nth(1).locator('canvas').evaluate((canvas) => canvas.toDataURL());
  await views.first().focus();
  await page.keyboard.press('w');
  await page.waitForFunction(
    (before) => document.querySelectorAll('[role=tabpanel]:not([hidden]) .timeline-view canvas')[1].toDataURL() !== before,
    before,
  );
  assert.deepEqual(await accessibilityProblems(page), []);
  // Between them, the kernels of a step: a click zooms to both sides of one.
  const ribbon = page.locator('.timeline-ribbon');
  await ribbon.getByText(/^\d+ kernels aligned; \d+ only in A, \d+ only in B\./).waitFor();
  const canvas = ribbon.locator('canvas');
  const picture = () => canvas.evaluate((canvas) => canvas.toDataURL());
  const drawn = await picture();
  const { width, height } = await canvas.boundingBox();
  const about = () => ribbon.locator('p').textContent();
  let x = 0;
  while (!/: A .*, B .* \([+−]/.test(await about()) && x < width) {
    await canvas.hover({ position: { x, y: height / 2 } });
    x += 3;
  }
  assert.match(await about(), /: A .*, B .* \([+−]/);
  await canvas.click({ position: { x: x - 3, y: height / 2 } });
  await page.waitForFunction((drawn) => document.querySelector('.timeline-ribbon canvas').toDataURL() !== drawn, drawn);
  // The steps can be chosen one by one.
  await page.getByLabel('Align by').selectOption('steps of your choice');
  await ribbon.waitFor({ state: 'detached' });
  assert.deepEqual(await accessibilityProblems(page), []);
});

pageTest('in a wide window, the events of a row stand beside its report and lead to the timeline', async (page) => {
  await page.setViewportSize({ width: 1920, height: 1080 });
  await page.getByTestId('file-input').setInputFiles(trace());
  await page.locator('.file-head').waitFor();
  await showReport(page, 'Slices by name');
  const beside = page.getByRole('complementary', { name: 'Selected row' });
  // Nothing of a row that nobody chose.
  await beside.getByText(/^Select a row /).waitFor();
  assert.equal(await beside.locator('h3').count(), 0);
  const { x } = await beside.boundingBox();
  await page.getByRole('row', { name: /^step/ }).first().locator('td').nth(1).click();
  await beside.locator(':scope > h3', { hasText: /^step$/ }).waitFor();
  await beside.getByText('2 events of this name, 1.000 ms in total').waitFor();
  assert.equal(await beside.getByText(/^Select a row /).count(), 0);
  assert.equal((await beside.boundingBox()).x, x);
  await beside.getByRole('img', { name: 'Durations of 2 events, 400.0 µs to 600.0 µs' }).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  // The longest event, in the timeline.
  await beside.getByRole('button', { name: '600.0 µs' }).click();
  await panel(page).locator('h3', { hasText: /^step$/ }).waitFor();
  await panel(page).getByText('600.0 µs').first().waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
  await showReport(page, 'Slices by name');
  assert.equal(await beside.isVisible(), false);
});
