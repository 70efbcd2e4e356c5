import { readFileSync } from 'node:fs';

/** Version from package.json, which lies above dist/ as well as above the sources. */
export function version(): string {
  for (const place of ['../package.json', '../../package.json']) {
    try {
      const parsed: unknown = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8'));
      const found = (parsed as { name?: string; version?: string }).name === 'rocm-nightshift' ? parsed : undefined;
      if (found !== undefined) return (found as { version: string }).version;
    } catch {
      // The other place is tried.
    }
  }
  return 'unknown';
}

/** Commit that was built, where the builder says so. */
export function revision(): string {
  return process.env.NIGHTSHIFT_REVISION ?? '';
}
