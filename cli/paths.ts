import type { FlagDef } from '../base/flags.ts';

/** Where a node's files are; every command that reads them has these. */
export const PATH_FLAGS = [
  { name: 'path.sysfs', kind: 'string', default: '/sys', help: 'where sysfs, or a captured tree of it, is' },
  {
    name: 'path.procfs',
    kind: 'string',
    help: 'where procfs, or a captured tree of it, is (default: /proc, or proc beside a --path.sysfs that is not /sys)',
  },
] as const satisfies readonly FlagDef[];
