import { stat } from 'node:fs/promises';
import { baseError, errnoOf } from './errors.ts';
import { loadWebConfig, type WebConfig, type WebConfigReader } from './webconfig.ts';

/** The newest good web configuration, and how to look for a newer one. */
export interface WebConfigStore {
  current(): WebConfig;
  /** Reads everything again. Throws where it is wrong; `current` then stays as it was. */
  reload(): WebConfig;
  /** Whether one of the files changed since the last look; true at most once for each change. */
  changed(): Promise<boolean>;
}

/** Opens a web configuration; throws where the first reading is wrong. */
export function openWebConfig(file: string, reader: WebConfigReader = {}): WebConfigStore {
  let current = loadWebConfig(file, reader);
  let seen: string | undefined;
  return {
    current: () => current,
    reload() {
      const next = loadWebConfig(file, reader);
      const why = needsRestart(current, next);
      if (why) throw baseError('WEB_CONFIG_NEEDS_RESTART', `web configuration ${file}: ${why}`, 'Restart to apply it.');
      current = next;
      return next;
    },
    async changed() {
      const print = (await Promise.all(current.files.map(fingerprint))).join('\n');
      const moved = seen !== undefined && print !== seen;
      seen = print;
      return moved;
    },
  };
}

/** Open listeners speak TLS or not, and ask for client certificates or not, as long as they live. */
function needsRestart(before: WebConfig, after: WebConfig): string | undefined {
  if (!before.tls !== !after.tls) return after.tls ? 'TLS was switched on' : 'TLS was switched off';
  if (!before.tls || !after.tls) return undefined;
  const asks = (config: WebConfig) => config.tls?.clientAuth !== 'NoClientCert';
  return asks(before) === asks(after) ? undefined : 'client_auth_type now differs in whether clients are asked at all';
}

/** Follows symbolic links, so that a mounted secret that is swapped by its link counts as changed. */
async function fingerprint(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(file);
    return `${file} ${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (error) {
    return `${file} ${errnoOf(error) ?? 'unknown'}`;
  }
}
