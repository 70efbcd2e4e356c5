import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** promtool says 3 where the text parses and its lint has remarks, 1 where it does not parse. */
const LINT_REMARKS = 3;
const DOES_NOT_PARSE = 1;

/**
 * What `promtool check metrics` has to say of an exposition, a line a problem; empty where it is content.
 * Throws where promtool cannot be started or ends in a way that is no verdict.
 */
export async function promtoolCheckMetrics(exposition: string): Promise<string[]> {
  const child = spawn('promtool', ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
  const exit = once(child, 'close');
  exit.catch(() => {}); // could not be started: thrown below
  child.stdin.on('error', () => {}); // gave up reading early: its verdict says why
  child.stdin.end(exposition);
  const [stdout, stderr, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  const problems = `${stdout}${stderr}`.split('\n').filter((line) => line.trim() !== '');
  if (code === 0) return problems;
  if ((code === LINT_REMARKS || code === DOES_NOT_PARSE) && problems.length > 0) return problems;
  throw new Error(`promtool check metrics ended with ${signal ?? code}: ${problems.join('; ')}`);
}
