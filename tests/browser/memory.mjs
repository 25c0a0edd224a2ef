// How much memory a browser takes, with all its processes. Linux only.
import { readFileSync, readdirSync } from 'node:fs';

/** What takes longer than this is looked at less often. */
const SLOW_MS = 10_000;

/**
 * Watches the memory of all processes that this one has started; gives the peak in bytes, shared pages counted once (PSS).
 * Looking takes the longer the more memory there is, so it looks less often once it is clear that the tool is slow.
 */
export function watchMemory() {
  const start = Date.now();
  let peak = 0;
  let timer;
  const look = () => {
    const family = new Set([String(process.pid)]);
    let sum = 0;
    // A child has mostly a higher number than its parent, or else it is found the next time.
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
