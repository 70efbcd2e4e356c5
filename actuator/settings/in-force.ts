import type { Book } from '../../model/book.ts';
import type { Claim } from '../../model/claim.ts';

/** Claims on one card that are to be brought to it: those of open cases that enforce. A dry run's claims touch nothing. */
export function claimsInForce(book: Book, on: string): Claim[] {
  const inForce: Claim[] = [];
  for (const [id, claims] of book.claims) {
    if (book.cases.get(id)?.mode !== 'enforce') continue;
    for (const claim of claims) if (claim.on === on) inForce.push(claim);
  }
  return inForce;
}

/** Functions and cgroups that are claimed or have a row: what the loop pokes at every tick. */
export function placesInUse(book: Book): Set<string> {
  const places = new Set<string>();
  for (const row of book.knobs.values()) places.add(row.on);
  for (const [id, claims] of book.claims) {
    if (book.cases.get(id)?.mode === 'enforce') for (const claim of claims) places.add(claim.on);
  }
  return places;
}
