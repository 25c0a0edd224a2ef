// Memory of a browser with all its processes. Linux only.
import { readFileSync, readdirSync } from 'node:fs';

/** Measurements that take longer are sampled less often. */
const SLOW_MS = 10_000;

/**
 * Watches the memory of all child processes. Returns a function that stops and returns the peak in bytes, with shared pages
 * counted once (PSS). Sampling takes longer the more memory there is, so it slows down after `SLOW_MS`.
 */
export function watchMemory() {
  const start = Date.now();
  let peak = 0;
  let timer;
  const look = () => {
    const family = new Set([String(process.pid)]);
    let sum = 0;
    // A child usually has a higher pid than its parent; otherwise the next sample finds it.
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)).sort((a, b) => a - b)) {
      try {
        const parent = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[1];
        if (!family.has(parent)) continue;
        family.add(pid);
        sum += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))[1]) * 1024;
      } catch {
        // It has ended.
      }
    }
    peak = Math.max(peak, sum);
    timer = setTimeout(look, Date.now() - start < SLOW_MS ? 100 : 1000);
  };
  if (process.platform === 'linux') look();
  return () => (clearTimeout(timer), peak || undefined);
}
