// The number that tells one build of the site from every other, which the page shows at its foot:
//
//   node tools/build-hash.mjs dist      prints it, and whether the site says the same of itself
//
// It is the SHA-256 of a list with a line a file, sorted by name: SHA-256 of the file, two spaces, its name from the
// site's folder, a line feed, as sha256sum writes it. Three files hold the number itself; in all files zeros are
// counted in its place.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Stands where the number will be. */
export const NO_BUILD = '0'.repeat(64);

const sha256 = (data) => createHash('sha256').update(data).digest('hex');

/** Names of all files in `folder` and below, with slashes, sorted. */
export function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)).split(sep).join('/'))
    .sort();
}

/** The number of the site in `folder`, in which `written` stands, or zeros. */
export function buildHash(folder, written = NO_BUILD) {
  const lines = filesIn(folder).map((name) => {
    const bytes = readFileSync(join(folder, name));
    const text = bytes.toString('latin1');
    return `${sha256(text.includes(written) ? Buffer.from(text.replaceAll(written, NO_BUILD), 'latin1') : bytes)}  ${name}\n`;
  });
  return sha256(lines.join(''));
}

/** The number that the site in `folder` says it has. */
export function writtenBuild(folder) {
  return / data-build="([0-9a-f]{64})"/.exec(readFileSync(join(folder, 'index.html'), 'utf8'))?.[1];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? 'dist';
  const written = writtenBuild(folder);
  const found = buildHash(folder, written);
  console.log(found);
  if (found !== written) {
    console.error(`The site in ${folder} says it is ${written}: it was changed after it was built.`);
    process.exit(1);
  }
}
