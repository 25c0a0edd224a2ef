// A browser without a debugger on its workers, for memory measurements.
//
// A debugger that attaches to workers, as Playwright does, makes the browser keep the code of each as text: tens of MB that
// users don't have.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

/** Whether Node.js has WebSocket: since version 22, before that with --experimental-websocket. */
export const hasPlainBrowser = typeof WebSocket === 'function';

/**
 * Starts Chromium with one tab that shows `url`, and its profile in the folder `profile`. Returns the part of
 * Playwright's page that `bench.mjs` uses, and `close`.
 */
export async function launchPlain({ executablePath, args }, profile, url) {
  const browser = spawn(
    executablePath,
    ['--headless', ...args, `--user-data-dir=${profile}`, '--remote-debugging-port=0', '--window-size=1280,800', url],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const lines = createInterface({ input: browser.stderr });
  const address = await new Promise((found, reject) => {
    lines.on('line', (line) => line.startsWith('DevTools listening on ') && found(new URL(line.slice(22))));
    browser.on('error', reject);
    browser.on('exit', () => reject(new Error('Chromium has ended')));
  });
  const tabs = await (await fetch(`http://${address.host}/json/list`)).json();
  const socket = new WebSocket(tabs.find((tab) => tab.type === 'page').webSocketDebuggerUrl);
  await once(socket, 'open');
  const waiting = new Map();
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error } = JSON.parse(data);
    waiting.get(id)?.(result, error);
    waiting.delete(id);
  });
  let n_sent = 0;
  const send = (method, params = {}) =>
    new Promise((answer, reject) => {
      const id = ++n_sent;
      waiting.set(id, (result, error) => (error ? reject(new Error(`${method}: ${error.message}`)) : answer(result)));
      socket.send(JSON.stringify({ id, method, params }));
    });
  const evaluate = async (run) => {
    const expression = `(${run})()`;
    const { result, exceptionDetails } = await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  return {
    evaluate,
    getByTestId: (id) => ({
      async setInputFiles(path) {
        const { root } = await send('DOM.getDocument');
        const { nodeId } = await send('DOM.querySelector', { nodeId: root.nodeId, selector: `[data-testid=${id}]` });
        await send('DOM.setFileInputFiles', { nodeId, files: [resolve(path)] });
      },
    }),
    async close() {
      const ended = once(browser, 'exit');
      // Closing ends all its processes; after a kill, some keep writing for a moment.
      socket.send(JSON.stringify({ id: 0, method: 'Browser.close' }));
      const timer = setTimeout(() => browser.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(timer);
      socket.close();
    },
  };
}
