/**
 * A job as a real process: it holds simulated memory, does nothing, and obeys signals. What happens to the memory its parent knows, the
 * simulator, which hears of each signal and says when a job that saved may end.
 */

import type { OnTerm } from './job.ts';

const [term = 'end', title = ''] = process.argv.slice(2) as [OnTerm?, string?];
process.title = title;

const tell = (message: 'ready' | 'SIGUSR1' | 'SIGTERM'): void => {
  // A parent that ended meanwhile is told by `disconnect`.
  process.send?.(message, undefined, undefined, () => {});
};
process.on('SIGUSR1', () => tell('SIGUSR1'));
process.on('SIGTERM', () => {
  if (term === 'end') process.exit(143);
  tell('SIGTERM');
});
// Ctrl-C on the terminal is the parent's to handle.
process.on('SIGINT', () => {});
process.on('message', (message) => {
  if (message === 'finish') process.exit(0);
});
// However the simulator ends, its jobs go with it.
process.on('disconnect', () => process.exit(0));
if (!process.connected) process.exit(0);
tell('ready');
