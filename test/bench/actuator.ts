import type { Run } from './bench.ts';
import { type BuiltLedger, type Commits, measureCommits } from './commits.ts';
import { type BuiltDecisions, type Deciding, measureDeciding } from './deciding.ts';
import { type Endurance, measureEndurance, measureReaction, type Reaction, type ReactionPlan } from './reaction.ts';
import { folderOnDisk, startActuator, startExecutor } from './receivers.ts';
import { type Subject, writeSubject } from './subjects.ts';

export interface ActuatorSizes extends ReactionPlan {
  notices: number;
  policies: number;
  cards: number;
  ticks: number;
  commits: number;
}

export const FULL: ActuatorSizes = {
  alerts: 300,
  storm: 1_000,
  notices: 100_000,
  policies: 200,
  cards: 64,
  ticks: 300,
  commits: 2_000,
};
export const QUICK: ActuatorSizes = { ...FULL, alerts: 48, storm: 100, notices: 5_000, ticks: 60, commits: 300 };

/** All that was measured of the actuator, and of a receiver that starts a process for each alert; undefined is what was not. */
export interface ActuatorResults {
  startMs: number | undefined;
  ours: Reaction | undefined;
  executor: Reaction | undefined;
  endurance: (Endurance & { processes: number }) | undefined;
  deciding: Deciding | undefined;
  commits: Commits | undefined;
}

export async function measureActuator(
  run: Run,
  built: BuiltDecisions & BuiltLedger,
  folder: string,
  sizes: ActuatorSizes,
): Promise<ActuatorResults> {
  const subject = writeSubject(folder, '8 x MI300X written to', { model: 'mi300x', cards: 8 });
  const disk = folderOnDisk();
  const executor = await run.part('a process an alert', () => reactionOf(startExecutor(subject.tree), subject, sizes));
  const ours = await run.part('the actuator', async () => {
    const started = startActuator(subject.tree, disk);
    const { startMs } = await started;
    return { startMs, reaction: await reactionOf(started, subject, sizes) };
  });
  const endurance = await run.part(`the actuator, ${sizes.notices} notices`, async () => {
    const program = await startActuator(subject.tree, folderOnDisk());
    try {
      return { ...(await measureEndurance(program, subject, sizes.notices)), processes: program.processes() };
    } finally {
      await program.stop();
    }
  });
  const deciding = await run.part(`${sizes.policies} policies on ${sizes.cards} cards`, () =>
    measureDeciding(built, subject, sizes),
  );
  const commits = await run.part('commits', async () => measureCommits(built, disk, sizes.commits));
  return { startMs: ours?.startMs, ours: ours?.reaction, executor, endurance, deciding, commits };
}

async function reactionOf(
  starting: ReturnType<typeof startExecutor>,
  subject: Subject,
  plan: ReactionPlan,
): Promise<Reaction> {
  const program = await starting;
  try {
    return await measureReaction(program, subject, plan);
  } finally {
    await program.stop();
  }
}
