// The timeline while its file is still being parsed.
import assert from 'node:assert/strict';
import { mkdir, rm } from 'node:fs/promises';
import { after, before } from 'node:test';
import { makeTrace } from './made-trace.mjs';
import { OUTPUT, accessibilityProblems, pageTests, release, showReport, siteAndBrowser } from './support.mjs';

const readingTest = pageTests(siteAndBrowser());
/** Small enough for one worker, which gets the first 4 MiB of it at once. */
const FILE = `${OUTPUT}/timeline-while-reading.json`;

before(async () => {
  await mkdir(OUTPUT, { recursive: true });
  await makeTrace(FILE, 7.5e6);
});
after(() => rm(FILE, { force: true }));

const listed = (page) => page.locator('ul[aria-label="Widest events in view"] li').allTextContents();
const soFar = (page) => page.getByText(/^Read so far: \d+%/);

/** Summary of the timeline: its events. */
const nEvents = async (page) => Number((await page.locator('.report:not([hidden]) .report-summary').textContent()).split(' ')[0].replaceAll(',', ''));

/** Moves the pointer over the first track until an event is below it. */
async function pointAtEvent(page) {
  const row = await page.locator('.timeline-titles li button').first().boundingBox();
  const view = await page.locator('.timeline-view').boundingBox();
  await page.mouse.move(0, 0);
  const tip = page.locator('.timeline-tip');
  await tip.waitFor({ state: 'detached' });
  for (let x = 5; x < view.width && !(await tip.isVisible()); x += 10) {
    await page.mouse.move(view.x + x, row.y + 9);
    await page.waitForTimeout(60);
  }
}

readingTest(
  'what is read so far shows, and stays in place when the rest is read',
  async (page) => {
    await page.getByTestId('file-input').setInputFiles(FILE);
    await showReport(page, 'Timeline');
    await soFar(page).waitFor();
    const percent = Number((await soFar(page).textContent()).match(/(\d+)%/)[1]);
    assert.ok(percent > 0 && percent < 75, `${percent}`);
    const view = page.locator('.timeline-view');
    await page.locator('ul[aria-label="Widest events in view"]').waitFor({ state: 'attached' });
    const before = await nEvents(page);
    assert.ok(before > 100, `${before}`);
    // It zooms and pans: down to some events with names.
    await view.focus();
    await page.keyboard.press('0');
    const isFew = (texts) => texts.length >= 3 && texts.length <= 25;
    for (let n = 0; n < 80 && !isFew(await listed(page)); n += 1) {
      await page.keyboard.press('w');
      // The list follows when the view stays.
      await page.waitForTimeout((await listed(page)).length === 0 ? 50 : 700);
    }
    await page.keyboard.press('d');
    await page.keyboard.press('a');
    await page.waitForTimeout(700);
    const shown = (await listed(page)).sort();
    assert.ok(isFew(shown) && shown.every((text) => /^(parent \d+|child), /.test(text)), shown.join('\n'));
    // It says what is under the pointer; what it is part of comes later.
    await pointAtEvent(page);
    assert.match(await page.locator('.timeline-tip').innerText(), /^parent \d+\n.*15\.12 µs · self 8\.875 µs$/);
    await page.mouse.down();
    await page.mouse.up();
    await page.getByText('Details follow once all is parsed').first().waitFor();
    assert.ok(!page.url().includes('time='));
    assert.deepEqual(await accessibilityProblems(page), []);
    await release(page, 9);
    await soFar(page).waitFor({ state: 'detached' });
    await page.locator('.file-head').waitFor();
    // The same events are in view, at the same place, and all others are there now.
    await page.waitForFunction(() => location.hash.includes('time='));
    await page.waitForTimeout(700);
    assert.deepEqual((await listed(page)).sort(), shown);
    assert.ok((await nEvents(page)) > before, `${before}`);
    // The page has moved.
    await pointAtEvent(page);
    await page.mouse.down();
    await page.mouse.up();
    await page.getByRole('complementary', { name: 'Details' }).getByRole('heading', { name: /^parent \d+$/ }).waitFor();
  },
  { slowReading: 'held' },
);
