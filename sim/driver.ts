/**
 * Generations of the driver, each named by the oldest kernel that shows its interface: 6.1 to 6.11, 6.12, 6.13 to 6.15,
 * 6.16 to 6.18, 6.19. The first is for the parts before MI300 only.
 */
export const DRIVERS = ['linux-6.1', 'linux-6.12', 'linux-6.13', 'linux-6.16', 'linux-6.19'] as const;
export type DriverGeneration = (typeof DRIVERS)[number];

/** Whether the generation has what came with `first`. */
export function since(driver: DriverGeneration, first: DriverGeneration): boolean {
  return DRIVERS.indexOf(driver) >= DRIVERS.indexOf(first);
}
