/** Shares of what a card can that no policy goes below, whatever the driver allows. */

/**
 * Share of the default cap below which no cap is set. A card draws 15 to 20 % of its default while it does nothing; 40 % leaves it
 * at least as much again to work with, so that a job under the lowest cap is slow and does not stall. It is a choice of ours:
 * no driver and no data sheet names a lowest useful cap.
 */
export const POWER_FLOOR_SHARE = 0.4;

/** Share of the highest clock below which no clock is limited; a choice of ours for the same reason. */
export const CLOCK_FLOOR_SHARE = 0.4;
