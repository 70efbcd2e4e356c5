import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first of these names that is a program on the PATH. */
export function programOf(...names: readonly string[]): string | undefined {
  return names.find((name) =>
    (process.env.PATH ?? '').split(delimiter).some((directory) => {
      try {
        accessSync(join(directory, name), constants.X_OK);
        return true;
      } catch {
        return false;
      }
    }),
  );
}

export const hasProgram = (...names: readonly string[]): boolean => programOf(...names) !== undefined;
