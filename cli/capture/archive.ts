import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack as tarPack } from 'tar-stream';
import { bugError } from '../../base/errors.ts';
import { type Masker, maskKnown } from './mask.ts';
import type { Content, Fault } from './walk.ts';

/** Folder that everything in the archive lies in. */
export const FOLDER = 'nightshift-capture';

/** Everything masked; nothing is written before all identities are known. Throws where one would still be there. */
export function maskAll(
  contents: ReadonlyMap<string, Content>,
  masker: Masker,
  maskComm: boolean,
): Map<string, Content> {
  const known = [...contents].map(([path, content]): [string, Content] =>
    'bytes' in content ? [path, { bytes: maskKnown(masker, path, content.bytes, maskComm) }] : [path, content],
  );
  return new Map(
    known.map(([path, content]): [string, Content] => {
      if ('link' in content) return [path, { link: masker.applyText(content.link) }];
      if ('dir' in content) return [path, content];
      const bytes = masker.apply(content.bytes);
      if (masker.remains(bytes)) throw bugError('CAPTURE_UNMASKED', `${path} would not be masked`, 'Please report it.');
      return [path, { bytes }];
    }),
  );
}

export interface Archive {
  /** As `maskAll` made them. */
  contents: ReadonlyMap<string, Content>;
  faults: readonly Fault[];
  manifest: Record<string, unknown>;
}

/** Writes the .tar.gz; the same contents make the same bytes. */
export async function writeArchive({ contents, faults, manifest }: Archive, to: Writable): Promise<void> {
  const tar = tarPack();
  const written = pipeline(tar, createGzip(), to);
  const mtime = new Date(0);
  const text = (name: string, body: string): void => {
    tar.entry({ name: `${FOLDER}/${name}`, mode: 0o644, mtime }, body);
  };
  for (const path of [...contents.keys()].sort()) {
    const content = contents.get(path) as Content;
    const name = `${FOLDER}/${path}`;
    if ('dir' in content) tar.entry({ name: `${name}/`, type: 'directory', mode: 0o755, mtime });
    else if ('link' in content) tar.entry({ name, type: 'symlink', linkname: content.link, mtime });
    else tar.entry({ name, mode: 0o644, mtime }, Buffer.from(content.bytes));
  }
  const lines = ['path\top\terrno', ...faults.map(({ path, op, errno }) => `${path}\t${op}\t${errno}`)];
  text('FAULTS.tsv', `${lines.join('\n')}\n`);
  text('MANIFEST.json', `${JSON.stringify(manifest, undefined, 2)}\n`);
  tar.finalize();
  await written;
}
