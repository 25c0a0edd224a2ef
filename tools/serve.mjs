// Serves dist/, or the given folder, on this computer: `make serve`, on port PORT or the next free one.
import { fileURLToPath } from 'node:url';
import { listen, staticServer } from './static-server.mjs';

const site = process.argv[2] ?? fileURLToPath(new URL('../dist', import.meta.url));
const wanted = Number(process.env.PORT || 8080);
const port = await listen(staticServer(site), wanted);
if (port !== wanted) console.log(`Port ${wanted} is in use.`);
console.log(`\n  Tracedrop is at  http://127.0.0.1:${port}/\n\n  Press Ctrl-C to stop. After a change, run make dist in another terminal and reload the page.\n`);
