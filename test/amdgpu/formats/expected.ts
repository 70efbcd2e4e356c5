import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Expected {
  levels: Record<string, unknown>[];
  current_level: string | null;
  current_mhz: number | null;
  ambiguous: boolean;
  deep_sleep: boolean;
}

/** What every capture's `expected.json` says of each `pp_dpm_*` file in its tree. */
export function expectedClocks(root: string): { file: string; domain: string; expected: Expected }[] {
  const found: { file: string; domain: string; expected: Expected }[] = [];
  for (const capture of readdirSync(root)) {
    const notes = join(root, capture, 'expected.json');
    if (!existsSync(notes)) continue;
    const devices = JSON.parse(readFileSync(notes, 'utf8')) as Record<string, { clocks?: Record<string, Expected> }>;
    for (const [device, { clocks }] of Object.entries(devices))
      for (const [domain, expected] of Object.entries(clocks ?? {}))
        found.push({ file: join(root, capture, device, `pp_dpm_${domain}`), domain, expected });
  }
  return found;
}

/** Every file below a capture root with one of these names. */
export function capturedFiles(root: string, ...names: string[]): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && names.includes(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}
