// Caches one build of the site in the browser, so that it starts offline, and receives files that are shared with the
// installed page. tools/finish-site.mjs fills in the build and its files.
//
// Invariants:
// - A page uses files of one build. Every file is checked against its checksum before it is cached; if one does not
//   match, as while a new version is being uploaded, none is cached and the browser tries again later.
// - A new build waits until no page of the old one is open, or until it is asked to take over (`activate`). If pages of
//   the old build are open then, its files stay until they are closed.
// - It requests the files listed here and nothing else, and no message makes it request anything: the page is under a
//   policy that allows no request, and this is not a way around it.

/** Hash over all files of the site, also in index.html; see tools/build-hash.mjs. */
const BUILD = '0000000000000000000000000000000000000000000000000000000000000000';
/** Relative path → checksum. index.html, which contains the build, has none. */
const FILES = {};

const FOLDER = new URL('./', self.location).pathname;
/** Other copies of the site may live on the same server. */
const PREFIX = `tracedrop ${FOLDER} `;
const CACHE = PREFIX + BUILD;
const SHARED = `tracedrop-shared ${FOLDER}`;
const INDEX = 'index.html';
/** Names with a hash of the content, so that a file of any build will do. */
const OF_CONTENT = /-[0-9a-f]{16}[./_]/;

async function load(path) {
  const integrity = FILES[path];
  const ask = async (cache) => {
    const response = await fetch(FOLDER + path, { cache, ...(integrity && { integrity }) });
    if (!response.ok) throw new Error(`${path}: the server returned ${response.status}`);
    return response;
  };
  // The page has just fetched the same files; a stale copy from an HTTP cache fails its checksum.
  const response = OF_CONTENT.test(path) ? await ask('default').catch(() => ask('reload')) : await ask('no-cache');
  const body = await response.blob();
  if (!integrity && !(await body.text()).includes(BUILD)) throw new Error(`${path} belongs to another build`);
  // A new response, because a navigation may not be answered with a redirected one.
  return new Response(body, { headers: { 'content-type': response.headers.get('content-type') ?? body.type } });
}

async function keep() {
  const cache = await caches.open(CACHE);
  try {
    await Promise.all(Object.keys(FILES).map(async (path) => cache.put(FOLDER + path, await load(path))));
  } catch (error) {
    await caches.delete(CACHE);
    throw error;
  }
}

/** Deletes other builds, unless an open page may use one; `nOwn` pages are known to use this one. */
async function forgetOthers(nOwn) {
  const open = await clients.matchAll({ type: 'window', includeUncontrolled: true });
  if (open.filter(({ url }) => new URL(url).pathname.startsWith(FOLDER)).length > nOwn) return;
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(PREFIX) && name !== CACHE).map((name) => caches.delete(name)));
}

async function kept(path, request) {
  const own = await (await caches.open(CACHE)).match(FOLDER + path);
  if (own) return own;
  for (const name of path === INDEX ? [] : await caches.keys()) {
    const other = name.startsWith(PREFIX) && (await (await caches.open(name)).match(FOLDER + path));
    if (other) return other;
  }
  // The browser may have evicted the cache. Never answer with a file of another build.
  return path in FILES && path !== INDEX ? load(path) : fetch(request);
}

/** Stores shared files for www/boot.js, which takes them when the page starts. */
async function takeShared(request) {
  const id = `${Date.now()}-${Math.random().toString(36).slice(2)}`;
  const kept = [];
  const cache = await caches.open(SHARED).catch(() => null);
  try {
    // An empty field arrives as a file without a name.
    const files = (await request.formData()).getAll('traces').filter((entry) => entry instanceof File && entry.name);
    for (const [at, file] of files.entries()) {
      const headers = { 'x-name': encodeURIComponent(file.name), 'x-modified': String(file.lastModified) };
      const place = `${FOLDER}shared/${id}/${at}`;
      await cache.put(place, new Response(file, { headers }));
      kept.push(place);
    }
    return Response.redirect(`${FOLDER}?shared=${id}`, 303);
  } catch {
    // Nobody would take only some of them.
    await Promise.all(kept.map((place) => cache.delete(place)));
    return Response.redirect(`${FOLDER}?shared=failed`, 303);
  }
}

addEventListener('install', (event) => event.waitUntil(keep()));

addEventListener('activate', (event) => event.waitUntil(forgetOthers(0)));

addEventListener('message', (event) => {
  if (event.data === 'activate') skipWaiting();
  if (event.data === `started ${BUILD}`) event.waitUntil(forgetOthers(1));
});

addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (origin !== self.location.origin || !pathname.startsWith(FOLDER)) return;
  const path = pathname.slice(FOLDER.length) || INDEX;
  if (request.method === 'POST' && path === 'share-target') return event.respondWith(takeShared(request));
  if (request.method !== 'GET' || !(path in FILES || OF_CONTENT.test(path))) return;
  event.respondWith(kept(path, request));
});
