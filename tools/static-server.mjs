// Serves a folder on this computer only, for `make serve` and for the browser tests.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

/**
 * Answers `base` + path with the file at path in `folder`, everything else with 404.
 * `onRequest` sees each request first.
 */
export function staticServer(folder, { base = '/', onRequest = () => {} } = {}) {
  return createServer(async (request, response) => {
    onRequest(request);
    const fail = (code, text) => response.writeHead(code, { 'content-type': 'text/plain' }).end(text);
    try {
      const { pathname } = new URL(request.url, 'http://localhost');
      if (!['GET', 'HEAD'].includes(request.method)) return fail(405, 'method not allowed');
      if (!pathname.startsWith(base)) return fail(404, 'not found');
      const path = normalize(decodeURIComponent(pathname.slice(base.length - 1)));
      const file = join(folder, path.endsWith('/') ? `${path}index.html` : path);
      const { size } = await stat(file).then((found) => (found.isFile() ? found : Promise.reject()));
      response.writeHead(200, {
        'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
        'content-length': size,
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
      });
      if (request.method === 'HEAD') response.end();
      else createReadStream(file).pipe(response);
    } catch {
      fail(404, 'not found');
    }
  });
}

/** Listens on loopback: on `port`, or on the next free one after it. Resolves to the port. */
export async function listen(server, port = 0) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, '127.0.0.1', () => {
          server.removeListener('error', reject);
          resolve(server.address().port);
        });
      });
    } catch (error) {
      if (error.code !== 'EADDRINUSE' || tries === 50) throw error;
      port += 1;
    }
  }
}
