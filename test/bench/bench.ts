import { cpus } from 'node:os';
import { FULL as ACTUATOR_FULL, QUICK as ACTUATOR_QUICK, measureActuator } from './actuator.ts';
import { renderActuatorTable } from './actuator-table.ts';
import type { BuiltLedger } from './commits.ts';
import type { BuiltDecisions } from './deciding.ts';
import { measureNodeExporter, measureRocmSmi, nodeExporterMissing, rocmSmiMissing } from './others.ts';
import { startNightshift } from './program.ts';
import { type Built, measureReading, type Reading } from './reading.ts';
import { measurePlain, measureServing, type Plan, type Serving } from './serving.ts';
import { folderInMemory, type Subject, writeSubject } from './subjects.ts';
import { type Column, renderTable } from './table.ts';

interface Sizes {
  /** Passes in the reading part. */
  rounds: number;
  /** Of the plain server and of node_exporter. */
  beside: number;
  smiRuns: number;
  plans: readonly [one: Plan, eight: Plan, partitions: Plan];
}

const FULL: Sizes = {
  rounds: 1000,
  beside: 1000,
  smiRuns: 15,
  plans: [
    { scrapes: 10_000, paced: 20 },
    { scrapes: 10_000, paced: 20 },
    { scrapes: 2000, paced: 20 },
  ],
};
const QUICK: Sizes = {
  rounds: 200,
  beside: 200,
  smiRuns: 4,
  plans: [
    { scrapes: 300, paced: 0 },
    { scrapes: 1000, paced: 8 },
    { scrapes: 200, paced: 0 },
  ],
};

export const PARTS = ['exporter', 'actuator'] as const;
export type Part = (typeof PARTS)[number];

export interface BenchOptions {
  quick: boolean;
  parts: readonly Part[];
}

/** Prints one table a part. True where something failed to run; a program that is not here did not fail. */
export async function bench(
  built: Built & BuiltDecisions & BuiltLedger,
  { quick, parts }: BenchOptions,
): Promise<boolean> {
  const run = new Run();
  const folder = folderInMemory();
  console.log(machine());
  if (parts.includes('exporter')) console.log(`\n${await benchExporter(run, built, folder, quick ? QUICK : FULL)}`);
  if (parts.includes('actuator')) {
    const results = await measureActuator(run, built, folder, quick ? ACTUATOR_QUICK : ACTUATOR_FULL);
    console.log(`\n${renderActuatorTable(results)}`);
  }
  console.log(run.closing());
  return run.failures.length > 0;
}

async function benchExporter(run: Run, built: Built, folder: string, sizes: Sizes): Promise<string> {
  const subjects = [
    writeSubject(folder, '1 x MI300X', { model: 'mi300x', cards: 1 }),
    writeSubject(folder, '8 x MI300X', { model: 'mi300x', cards: 8 }),
    writeSubject(folder, '8 x MI300X CPX', { model: 'mi300x', cards: 8, partition: 'cpx' }),
  ];
  const columns: Column[] = [];
  for (const [index, subject] of subjects.entries()) {
    columns.push(await measureSubject(run, built, subject, sizes, sizes.plans[index] as Plan));
  }
  // rocm-smi 5.2 aborts on the tables of MI300; MI210 is the newest card that it knows whole.
  columns.push(
    await measureBesideSmi(
      run,
      writeSubject(folder, '8 x MI210', { model: 'mi210', cards: 8, driver: 'linux-6.1' }),
      sizes,
    ),
  );
  return renderTable(columns);
}

function machine(): string {
  const all = cpus();
  const memory = Math.round(process.constrainedMemory() / 2 ** 30);
  const limit = memory > 0 && memory < 1 << 20 ? `, ${memory} GiB` : '';
  return `${all.length} cores of ${all[0]?.model ?? 'an unknown processor'}${limit}, Node ${process.version}, Linux ${process.platform === 'linux' ? process.arch : process.platform}`;
}

/** Parts that fail or cannot run here do not keep the others from running. */
export class Run {
  readonly failures: string[] = [];
  readonly skipped: string[] = [];

  async part<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    console.error(`... ${what}`);
    try {
      return await work();
    } catch (error) {
      this.failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }

  async partUnless<T>(missing: string | undefined, what: string, work: () => Promise<T>): Promise<T | undefined> {
    if (missing === undefined) return this.part(what, work);
    if (!this.skipped.includes(missing)) this.skipped.push(missing);
    return undefined;
  }

  closing(): string {
    return [
      ...this.skipped.map((reason) => `skipped: ${reason}`),
      ...this.failures.map((failure) => `FAILED: ${failure}`),
    ].join('\n');
  }
}

async function measureSubject(run: Run, built: Built, subject: Subject, sizes: Sizes, plan: Plan): Promise<Column> {
  const { name } = subject;
  const reading: Reading | undefined = await run.part(`${name}: reading`, () =>
    measureReading(built, subject, sizes.rounds),
  );
  const serving = await run.part(`${name}: ${plan.scrapes} scrapes`, () => serve(subject, plan));
  const plain = serving && (await run.part(`${name}: plain server`, () => measurePlain(serving.bytes, sizes.beside)));
  const nodeExporter = await run.partUnless(nodeExporterMissing(), `${name}: node_exporter`, () =>
    measureNodeExporter(subject, sizes.beside),
  );
  return { name, reading, serving, plain, nodeExporter, smi: undefined };
}

async function measureBesideSmi(run: Run, subject: Subject, sizes: Sizes): Promise<Column> {
  const { name } = subject;
  const serving = await run.part(`${name}: scrapes`, () => serve(subject, { scrapes: sizes.beside, paced: 0 }));
  const smi = await run.partUnless(rocmSmiMissing(), `${name}: rocm-smi`, () => measureRocmSmi(subject, sizes.smiRuns));
  return { name, reading: undefined, serving, plain: undefined, nodeExporter: undefined, smi };
}

async function serve(subject: Subject, plan: Plan): Promise<Serving> {
  const program = await startNightshift(subject.tree, subject.cards);
  try {
    return await measureServing(program, plan);
  } finally {
    await program.stop();
  }
}
