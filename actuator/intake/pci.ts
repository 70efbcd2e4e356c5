const ADDRESS = /^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([01][0-9a-f])\.([0-7])$/;
/** A GPU of which only KFD knows, and no address. */
const KFD_ONLY = /^kfd-\d{1,10}$/;

/**
 * A PCI address in the kernel's spelling (`%04x:%02x:%02x.%d`, drivers/pci/probe.c): lower case, the domain with four digits
 * or as many as it needs, 0000 where it was left out. Undefined where the text is none.
 */
export function canonicalPci(text: string): string | undefined {
  const lower = text.trim().toLowerCase();
  if (KFD_ONLY.test(lower)) return lower;
  const [, domain = '0', bus, device, fn] = ADDRESS.exec(lower) ?? [];
  if (bus === undefined) return undefined;
  return `${domain.replace(/^0+/, '').padStart(4, '0')}:${bus}:${device}.${fn}`;
}

/** A GPU's number as a label carries it, text. */
export function gpuNumber(text: string): number | undefined {
  return /^(?:0|[1-9]\d{0,3})$/.test(text.trim()) ? Number(text) : undefined;
}
