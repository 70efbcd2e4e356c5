/** Milliseconds since the epoch. */
export type Instant = number;
