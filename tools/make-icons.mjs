// Renders www/icons/tracedrop.svg to the icons in www/tracedrop.webmanifest, with the browser of the tests:
//
//   . target/env.sh; export TRACEDROP_CHROME; node tools/make-icons.mjs
//
// Run it when the drawing changes, and commit the output. Systems crop "maskable" icons; only a circle of 80% is always
// visible, so the drop is smaller there and has a background.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from '../tests/browser/support.mjs';

const path = (name) => fileURLToPath(new URL(`../www/icons/${name}`, import.meta.url));
const drawing = `data:image/svg+xml,${encodeURIComponent(readFileSync(path('tracedrop.svg'), 'utf8'))}`;

const browser = await launchBrowser();
for (const [kind, share, ground] of [['icon', 0.96, 'transparent'], ['maskable', 0.62, '#ffffff']]) {
  for (const size of [192, 512]) {
    const page = await browser.newPage({ viewport: { width: size, height: size } });
    const side = Math.round(size * share);
    await page.setContent(
      `<style>body { margin: 0; height: 100vh; display: grid; place-items: center; background: ${ground} }</style><img width="${side}" height="${side}" src="${drawing}">`,
    );
    await page.locator('img').evaluate((image) => image.decode());
    await page.screenshot({ path: path(`${kind}-${size}.png`), omitBackground: true });
    await page.close();
  }
}
await browser.close();
