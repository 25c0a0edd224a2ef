// Accessibility of the start screen.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NARROW, WIDE, accessibilityProblems, openPage, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();

for (const colorScheme of ['light', 'dark']) {
  for (const [name, viewport] of Object.entries({ wide: WIDE, narrow: NARROW })) {
    test(`axe finds nothing on the start screen, ${colorScheme}, ${name}`, async () => {
      const page = await openPage(given.browser, given.site.url, { colorScheme, viewport });
      assert.equal((await accessibilityProblems(page)).join('\n'), '');
      await page.context().close();
    });
  }

  test(`axe finds nothing while the page loads, ${colorScheme}`, async () => {
    const page = await openPage(given.browser, 'about:blank', { colorScheme, ready: false });
    await page.route('**/*_bg.wasm', () => {});
    await page.goto(given.site.url);
    assert.equal((await accessibilityProblems(page)).join('\n'), '');
    await page.context().close();
  });
}
