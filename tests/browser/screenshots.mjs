// Pictures of the screens, for people to look at: `make screenshots` writes them to tests/browser/output/.
// Add a screen: a name and what to do with a ready page to get there.
import { mkdir } from 'node:fs/promises';
import { NARROW, OUTPUT, WIDE, launchBrowser, openPage, startSite } from './support.mjs';

const sample = async (page, title) => {
  await page.getByRole('button', { name: title }).click();
  await page.locator('.report h2').first().waitFor();
};
const SCREENS = {
  start: async () => {},
  report: (page) => sample(page, /LLM decoding/),
  table: async (page) => {
    await sample(page, /LLM decoding/);
    await page.keyboard.press('j');
    await page.getByRole('button', { name: 'Show the account' }).click();
  },
  exports: async (page) => {
    await sample(page, /forward passes/);
    await page.keyboard.press('e');
    await page.getByRole('menu').waitFor();
  },
  problem: async (page) => {
    await page.getByTestId('file-input').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('remember the milk') });
    await page.getByRole('alert').getByRole('heading').waitFor();
  },
  keys: async (page) => {
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
  },
};

await mkdir(OUTPUT, { recursive: true });
const site = await startSite();
const browser = await launchBrowser();
for (const [screen, goThere] of Object.entries(SCREENS)) {
  for (const colorScheme of ['light', 'dark']) {
    for (const [size, viewport] of Object.entries({ wide: WIDE, narrow: NARROW })) {
      const page = await openPage(browser, site.url, { colorScheme, viewport });
      await goThere(page);
      await page.screenshot({ path: `${OUTPUT}/${screen}-${colorScheme}-${size}.png` });
      for (const line of page.console) console.log(`${screen}: ${line}`);
      await page.context().close();
    }
  }
}
// What a person sees before the app runs, and when it cannot.
for (const [name, answer] of Object.entries({ loading: () => {}, failed: (route) => route.fulfill({ status: 404, body: '' }) })) {
  const page = await openPage(browser, 'about:blank', { ready: false });
  await page.route('**/*_bg.wasm', answer);
  await page.goto(site.url);
  if (name === 'failed') await page.locator('.boot-problem').filter({ hasText: 'could not' }).waitFor();
  await page.screenshot({ path: `${OUTPUT}/${name}.png` });
  await page.context().close();
}
await browser.close();
await site.close();
console.log('tests/browser/output/');
