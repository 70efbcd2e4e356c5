/** Times in milliseconds, and what is said of many of them. */
export interface Times {
  p50: number;
  p99: number;
  best: number;
  count: number;
}

/** Nearest rank: the smallest time that at least this share of all kept. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function timesOf(list: readonly number[]): Times {
  const sorted = [...list].sort((a, b) => a - b);
  return {
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    best: sorted[0] ?? Number.NaN,
    count: sorted.length,
  };
}

/** Does it `count` times, one after the other, and takes the time of each. */
export async function timeEach(count: number, work: (round: number) => unknown): Promise<Times> {
  const list: number[] = [];
  for (let round = 0; round < count; round++) {
    const start = performance.now();
    await work(round);
    list.push(performance.now() - start);
  }
  return timesOf(list);
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
