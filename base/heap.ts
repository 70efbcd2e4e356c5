import { setFlagsFromString } from 'node:v8';

/**
 * Makes V8 collect early instead of growing: left alone it sizes its heap by the machine's memory, and a daemon that makes a
 * few megabytes of garbage a second comes to hold 150 MiB beside jobs that need the memory. Costs a few percent of a scrape.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  // A young generation this small is collected faster by the thread that is awake than by waking others.
  setFlagsFromString('--no-parallel-scavenge');
  // In a pause between two scrapes V8 would mark the heap several times over, on four threads: a third of our CPU at one a second.
  setFlagsFromString('--memory-reducer-single-gc');
  setFlagsFromString('--heap-growing-percent=40');
}
