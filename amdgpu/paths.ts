/** Where a node's files are. A captured tree is given by the same paths as the machine itself. */
export interface Paths {
  sysfs: string;
  procfs: string;
}
