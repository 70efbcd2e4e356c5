/** What a policy acts on. A GPU is named by its PCI address, never by its number. */
export type Target = { kind: 'gpu'; pci: string } | { kind: 'node' } | { kind: 'workload'; id: string };

export const TARGET_KINDS = ['gpu', 'node', 'workload'] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

/** `gpu:0000:c1:00.0`, `node`, `workload:slurm/4711`. */
export function targetKey(target: Target): string {
  if (target.kind === 'gpu') return `gpu:${target.pci}`;
  return target.kind === 'node' ? 'node' : `workload:${target.id}`;
}

export function targetOfKey(key: string): Target {
  if (key === 'node') return { kind: 'node' };
  const [kind = '', ...rest] = key.split(':');
  const id = rest.join(':');
  return kind === 'gpu' ? { kind, pci: id } : { kind: 'workload', id };
}
