import { defineConfig } from 'vitest/config';

/** Times, as ratios to a floor of the same run. */
const MEASURED = ['speed', 'actuator-speed', 'floor', 'faults-hang', 'lifecycle'].map(
  (name) => `test/real/${name}.test.ts`,
);

/** File systems and programs of others share the machine with whatever else runs there. What needed it is named at the end. */
const TRIES = 2;

/** `fast` needs nothing but Node; `real` starts servers, file systems and other people's programs. */
export default defineConfig({
  test: {
    reporters: ['default', './test/support/skips.ts'],
    projects: [
      {
        test: {
          name: 'fast',
          // The scenarios and properties reckon for seconds, and a machine may be busy.
          testTimeout: 30_000,
          // Nothing of ours is global, so that a process for each file would only cost its start: a third of the whole.
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: ['test/real/**', 'dist/**', 'node_modules/**'],
        },
      },
      {
        test: {
          name: 'real',
          include: ['test/real/**/*.test.ts'],
          exclude: [...MEASURED, 'dist/**', 'node_modules/**'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          retry: TRIES - 1,
          // They wait more than they work: two at a time, each with folders, ports and mounts of its own.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'measured',
          include: MEASURED,
          exclude: ['dist/**', 'node_modules/**'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          retry: TRIES - 1,
          // What is timed has the machine to itself.
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
