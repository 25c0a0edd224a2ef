// Flame graphs: choices, search, focus, hidden frames, the table beside it, differences, and all of it by keyboard.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { NARROW, accessibilityProblems, pageTests, showReport, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();
const pageTest = pageTests(given);
const sample = (name) => fileURLToPath(new URL(`../../www/samples/${name}`, import.meta.url));
const data = (name) => fileURLToPath(new URL(`../data/${name}`, import.meta.url));

const summary = (page) => page.locator('[role=tabpanel]:not([hidden]) .report:not([hidden]) .report-summary');
const boxes = (page) => page.locator('[role=tabpanel]:not([hidden]) .report:not([hidden]) .flame rect');

async function openFlame(page, file) {
  await page.getByTestId('file-input').setInputFiles(file);
  await page.locator('.file-head').waitFor({ state: 'attached' });
  await showReport(page, 'Flame graph');
  await boxes(page).first().waitFor();
}

pageTest('a search counts each stack once, a click shows a box in full width, and Back undoes it', async (page) => {
  await openFlame(page, sample('gpu-serving.json'));
  assert.equal(await summary(page).textContent(), '21.39 ms, 24.9% in nvjet_tst_64x8_64x16_4x1_v_bz_TNT itself.');
  await page.getByRole('searchbox', { name: 'Find functions' }).fill('aten::mm');
  await page.getByText(/^Found: \d.* ms, \d/).waitFor();
  await page.getByRole('searchbox', { name: 'Find functions' }).fill('/(/');
  await page.getByText(/between slashes/).waitFor();
  await page.getByRole('searchbox', { name: 'Find functions' }).fill('');
  await page.waitForFunction(() => !location.hash.includes('flame='));
  await page.locator('.flame-drawing').click({ position: { x: 40, y: 3 * 19 + 9 } });
  const trail = page.getByRole('navigation', { name: 'All' });
  await trail.getByRole('button', { name: 'All' }).waitFor();
  assert.match(page.url(), /flame=f/);
  await page.goBack();
  await trail.getByRole('button', { name: 'All' }).waitFor({ state: 'detached' });
  assert.deepEqual(await accessibilityProblems(page), []);
});

pageTest('what is hidden says so and comes back; the weights stay', async (page) => {
  await openFlame(page, data('stacks/odd_folded_annotations.txt'));
  const total = await summary(page).textContent();
  const first = await page.locator('.flame-name span').first().textContent();
  await page.locator('.flame-drawing').click({ position: { x: 20, y: 9 } });
  await page.getByRole('button', { name: 'Hide', exact: true }).click();
  await page.getByRole('button', { name: /^Show .* again$/ }).waitFor();
  assert.equal(await summary(page).textContent(), total);
  await page.getByRole('button', { name: /^Show .* again$/ }).click();
  await page.getByRole('button', { name: /^Show .* again$/ }).waitFor({ state: 'detached' });
  // A name in the table lights its boxes, and only the row of that name is left.
  await page.locator('.flame-name').first().click();
  await page.getByText(/^Found: /).waitFor();
  assert.equal(await page.getByRole('searchbox', { name: 'Find functions' }).inputValue(), `"${first}"`);
  await page.getByRole('button', { name: 'Bottom-up' }).click();
  await page.getByRole('button', { name: 'One function' }).click();
  await page.getByRole('heading', { name: 'Callers', exact: true }).waitFor();
  await page.locator('.flame-options summary').click();
  await page.getByRole('checkbox', { name: 'Only my code' }).check();
  await page.getByRole('textbox', { name: /Library paths/ }).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
});

pageTest('arrow keys walk the boxes, Enter zooms in and Escape out', async (page) => {
  await openFlame(page, sample('gpu-serving.json'));
  await page.locator('.flame-drawing').focus();
  await page.keyboard.press('ArrowDown');
  await page.locator('.flame-current').waitFor();
  const at = () => page.locator('.flame-current').evaluate((it) => [it.x.baseVal.value, it.y.baseVal.value]);
  assert.equal((await at())[1], 0);
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction(() => document.querySelector('.flame-current')?.y.baseVal.value === 19);
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /flame=f[^,]*,f/.test(location.hash));
  await page.locator('.flame-drawing').focus();
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => /flame=f[^,]*$/.test(location.hash.replace(/&.*/, (rest) => (rest.includes('flame=') ? rest : ''))));
});

pageTest('a comparison shows the difference of its stacks', async (page) => {
  await page.getByTestId('file-input').setInputFiles([data('pytorch/compare-base.json.gz'), data('pytorch/compare-test.json.gz')]);
  await page.getByRole('heading', { name: 'B vs A' }).waitFor();
  await showReport(page, 'Flame graph');
  await boxes(page).first().waitFor();
  assert.match(await summary(page).textContent(), /^A .*, B /);
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await page.waitForFunction(() => /flame=.*w2/.test(location.hash));
  await page.getByRole('columnheader', { name: 'self in A' }).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
});

pageTest('a flame graph fits on a phone', async (page) => {
  await page.setViewportSize(NARROW);
  await openFlame(page, sample('gpu-serving.json'));
  const [scrollWidth, clientWidth] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(scrollWidth <= clientWidth, `${scrollWidth} ${clientWidth}`);
  assert.deepEqual(await accessibilityProblems(page), []);
});
