// The hash that identifies a build of the site, shown in the footer of the page:
//
//   node tools/build-hash.mjs dist      prints it and checks it against the one in the site
//
// It is the SHA-256 of a list with one line per file, sorted by name: SHA-256 of the file, two spaces, its path relative to
// the site's folder, a line feed, as sha256sum writes it. Three files contain the hash itself; it is replaced by zeros in all
// files before hashing.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Placeholder of the hash. */
export const NO_BUILD = '0'.repeat(64);

const sha256 = (data) => createHash('sha256').update(data).digest('hex');

/** Paths of all files in `folder`, recursively, with slashes, sorted. */
export function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)).split(sep).join('/'))
    .sort();
}

/** Hash of the site in `folder`, whose files contain `written` or zeros. */
export function buildHash(folder, written = NO_BUILD) {
  const lines = filesIn(folder).map((name) => {
    const bytes = readFileSync(join(folder, name));
    const text = bytes.toString('latin1');
    return `${sha256(text.includes(written) ? Buffer.from(text.replaceAll(written, NO_BUILD), 'latin1') : bytes)}  ${name}\n`;
  });
  return sha256(lines.join(''));
}

/** Hash written in the site in `folder`. */
export function writtenBuild(folder) {
  return / data-build="([0-9a-f]{64})"/.exec(readFileSync(join(folder, 'index.html'), 'utf8'))?.[1];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? 'dist';
  const written = writtenBuild(folder);
  const found = buildHash(folder, written);
  console.log(found);
  if (found !== written) {
    console.error(`The site in ${folder} claims to be build ${written}: it was modified after the build.`);
    process.exit(1);
  }
}
