/** Errors of errno(3) with which the kernel refuses to open or write a file. */
export type WriteErrno = 'EINVAL' | 'EPERM' | 'EBUSY' | 'EACCES' | 'EOPNOTSUPP' | 'EIO' | 'ENOENT' | 'EROFS';

/**
 * What a write came to. `changed`: the files that read otherwise than before, by their path in the rendered tree; among them are
 * such as came or went with a change of partitions. Empty where the write was accepted and shows nowhere.
 */
export type WriteResult = { ok: true; changed: string[] } | { ok: false; errno: WriteErrno };

export const accepted = (changed: string[] = []): WriteResult => ({ ok: true, changed });
export const refused = (errno: WriteErrno): WriteResult => ({ ok: false, errno });
