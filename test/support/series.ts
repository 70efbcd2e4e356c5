import { type Family, parseScrape } from './scrape.ts';

export type Labels = Readonly<Record<string, string>>;

/** A scrape to ask single series of. What is asked for by some labels must be one series, or none. */
export class Series {
  readonly families: ReadonlyMap<string, Family>;

  constructor(exposition: string) {
    this.families = parseScrape(exposition);
  }

  /** All samples of a metric whose labels hold these. */
  all(name: string, labels: Labels = {}): { labels: Labels; value: number; text: string }[] {
    const samples = this.families.get(name)?.samples ?? [];
    return samples
      .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
      .map((sample) => ({ labels: sample.labels, value: Number(sample.value), text: sample.value }));
  }

  value(name: string, labels: Labels = {}): number | undefined {
    const found = this.all(name, labels);
    if (found.length > 1) throw new Error(`${name}${JSON.stringify(labels)} is ${found.length} series`);
    return found[0]?.value;
  }

  /** Values of one label over the series of a metric, in order of the text. */
  labelValues(name: string, label: string, labels: Labels = {}): string[] {
    return this.all(name, labels).map((sample) => sample.labels[label] ?? '');
  }

  /** Of a metric with one 0/1 series a state: the state that is 1; undefined where there are no series. */
  state(name: string, label: string, labels: Labels = {}): string | undefined {
    const all = this.all(name, labels);
    const on = all.filter((sample) => sample.value === 1);
    if (all.length > 0 && (on.length !== 1 || all.some(({ value }) => value !== 0 && value !== 1))) {
      throw new Error(`${name}${JSON.stringify(labels)} must have one state that is 1, not ${on.length}`);
    }
    return on[0]?.labels[label];
  }
}
