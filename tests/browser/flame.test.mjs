// Flame graphs: choices, search, focus, hidden frames, the table beside it, differences, and all of it by keyboard.
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NARROW, accessibilityProblems, pageTests, showReport, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();
const pageTest = pageTests(given);
const sample = (name) => fileURLToPath(new URL(`../../www/samples/${name}`, import.meta.url));
const data = (name) => fileURLToPath(new URL(`../data/${name}`, import.meta.url));

const summary = (page) => page.locator('[role=tabpanel]:not([hidden]) .report:not([hidden]) .report-summary');
const boxes = (page) => page.locator('[role=tabpanel]:not([hidden]) .report:not([hidden]) .flame path');

async function openFlame(page, file) {
  await page.getByTestId('file-input').setInputFiles(file);
  await page.locator('.file-head').waitFor({ state: 'attached' });
  await showReport(page, 'Flame graph');
  await boxes(page).first().waitFor();
}

pageTest('a search counts each stack once, a click shows a box in full width, and Back undoes it', async (page) => {
  await openFlame(page, sample('gpu-serving.json'));
  assert.equal(await summary(page).textContent(), '21.39 ms in total; 24.9% self in nvjet_tst_64x8_64x16_4x1_v_bz_TNT.');
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

pageTest('a box lights its row and leads to its rows in the reports', async (page) => {
  await openFlame(page, data('stacks/odd_folded_annotations.txt'));
  await page.locator('.flame-drawing').click({ position: { x: 20, y: 9 } });
  const row = page.locator('.flame-table tr[aria-current=true]');
  await row.waitFor();
  const name = await row.locator('.flame-name span').textContent();
  assert.ok((await page.locator('.flame-about').textContent()).startsWith(name));
  const links = page.getByRole('region', { name: 'In the reports' }).getByRole('button');
  await links.first().click();
  await page.getByRole('heading', { name: 'Functions by stack' }).waitFor();
});

for (const viewport of [undefined, NARROW]) {
  pageTest(
    `a click on a box leaves the graph where it is, ${viewport ? 'narrow' : 'wide'}`,
    async (page) => {
      await openFlame(page, data('stacks/odd_folded_annotations.txt'));
      const drawing = page.locator('.flame-drawing');
      const top = () => drawing.evaluate((drawing) => drawing.getBoundingClientRect().top + scrollY);
      const before = await top();
      await drawing.click({ position: { x: 20, y: 9 } });
      await page.getByRole('navigation', { name: 'All' }).getByRole('button', { name: 'All' }).waitFor();
      await page.locator('.flame-actions').getByRole('button', { name: 'Copy name' }).waitFor();
      await page.getByRole('region', { name: 'In the reports' }).waitFor();
      assert.equal(await top(), before);
      assert.deepEqual(await accessibilityProblems(page), []);
    },
    viewport ? { viewport } : undefined,
  );
}

pageTest('the list of functions, and a long table, end with a whole row', async (page) => {
  await openFlame(page, sample('gpu-serving.json'));
  // How far rows reach past the lower end of their box, for the row that is there.
  const cut = (selector) =>
    page.locator(selector).first().evaluate((box) => {
      const end = box.getBoundingClientRect().top + box.clientTop + box.clientHeight;
      return Math.min(...[...box.querySelectorAll('tr')].map((row) => Math.abs(row.getBoundingClientRect().bottom - end)));
    });
  await page.waitForFunction(() => document.querySelector('.flame-table').style.getPropertyValue('--end') !== '');
  for (const height of [800, 1440]) {
    await page.setViewportSize({ width: 1600, height });
    // It follows the window and its rows.
    let left;
    for (let round = 0; round < 40; round += 1) {
      await page.waitForTimeout(100);
      left = await cut('.flame-table');
      if (left <= 1.5) break;
    }
    assert.ok(left <= 1.5, `${height}: ${left}`);
  }
  await showReport(page, 'Slices by name');
  await page.locator('.report:not([hidden]) .table-long tbody tr').first().waitFor();
  assert.ok((await cut('.report:not([hidden]) .table-long')) <= 1.5);
});

pageTest('screen readers have the boxes as a tree', async (page) => {
  await openFlame(page, sample('gpu-serving.json'));
  const tree = page.getByRole('tree', { name: 'Boxes of the flame graph' });
  const n_roots = await tree.getByRole('treeitem').count();
  assert.ok(n_roots > 1 && n_roots <= 30, `${n_roots}`);
  await tree.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  const current = tree.locator('[aria-selected=true]');
  await page.waitForFunction(() => document.querySelector('.flame-drawing [aria-selected=true]')?.getAttribute('aria-level') === '2');
  assert.equal(await tree.getAttribute('aria-activedescendant'), await current.getAttribute('id'));
  // The box and its caller are open: what the box calls is in the tree too.
  assert.equal(await tree.locator('[aria-expanded=true]').count(), 2);
  assert.ok((await tree.locator('[aria-level="3"]').count()) > 0);
  assert.match(await current.textContent(), /, \d.* \(\d.*%\)/);
  assert.deepEqual(await accessibilityProblems(page), []);
});

pageTest('a saved picture has zoom and search, and fetches nothing', async (page) => {
  await openFlame(page, sample('gpu-serving.json'));
  const download = page.waitForEvent('download');
  await page.locator('.flame-head').getByRole('button', { name: 'Save as SVG' }).click();
  const path = await (await download).path();
  copyFileSync(path, `${path}.svg`);
  const context = await given.browser.newContext();
  const picture = await context.newPage();
  const wrong = [];
  picture.on('pageerror', (error) => wrong.push(String(error)));
  picture.on('request', (request) => wrong.push(...(request.url().startsWith('file:') ? [] : [request.url()])));
  await picture.goto(`file://${path}.svg`);
  const rects = picture.locator('rect[fill-opacity]');
  const at = await rects.evaluateAll((all) => all.findIndex((it) => Number(it.getAttribute('width')) < 300 && Number(it.getAttribute('width')) > 60));
  const width = () => rects.nth(at).evaluate((it) => Number(it.getAttribute('width')));
  const before = await width();
  await rects.nth(at).click();
  assert.ok((await width()) > 900, `${await width()}`);
  await picture.getByRole('button', { name: 'Reset zoom' }).click();
  assert.equal(await width(), before);
  picture.on('dialog', (dialog) => dialog.accept('aten::mm'));
  await picture.getByRole('button', { name: 'Search' }).click();
  const found = Number.parseFloat((await picture.getByRole('status').textContent()).replace('Found: ', ''));
  // As the page says, as exactly as boxes are drawn.
  await page.getByRole('searchbox', { name: 'Find functions' }).fill('aten::mm');
  const said = await page.getByText(/^Found: \d.* ms, \d/).textContent();
  assert.ok(Math.abs(found - Number.parseFloat(said.split(', ')[1])) < 0.5, `${found} ${said}`);
  assert.deepEqual(wrong, []);
  await context.close();
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

pageTest('deep stacks have elements near the window only, and keys lead to all boxes', async (page) => {
  const stack = Array.from({ length: 250 }, (_, at) => `frame_${at}`).join(';');
  await openFlame(page, { name: 'deep.folded', mimeType: 'text/plain', buffer: Buffer.from(`${stack} 5\n`) });
  assert.ok((await page.locator('.flame text').count()) < 130);
  await page.locator('.flame-drawing').focus();
  for (let at = 0; at < 120; at += 1) await page.keyboard.press('ArrowDown');
  await page.waitForFunction(() => document.querySelector('.flame-about')?.textContent.startsWith('frame_119'));
  await page.waitForFunction(() => {
    const it = document.querySelector('.flame-current')?.getBoundingClientRect();
    return it && it.top >= document.querySelector('.header').getBoundingClientRect().bottom && it.bottom <= innerHeight;
  });
  // Its row has its box.
  await page.locator('.flame text', { hasText: 'frame_119' }).waitFor();
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
  // A kernel leads to its row, with both sides.
  await page.getByRole('button', { name: 'Bottom-up' }).click();
  await page.waitForFunction(() => /flame=.*d1/.test(location.hash));
  await page.locator('.flame-drawing').click({ position: { x: 20, y: 9 } });
  await page.getByRole('region', { name: 'In the reports' }).getByRole('button').first().waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
});

pageTest('a flame graph fits on a phone', async (page) => {
  await page.setViewportSize(NARROW);
  await openFlame(page, sample('gpu-serving.json'));
  const [scrollWidth, clientWidth] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(scrollWidth <= clientWidth, `${scrollWidth} ${clientWidth}`);
  assert.deepEqual(await accessibilityProblems(page), []);
});
