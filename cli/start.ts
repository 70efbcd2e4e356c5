import type { Command } from 'commander';
import { LanePool } from '../amdgpu/lanes/pool.ts';
import { survey } from '../amdgpu/survey.ts';
import type { Daemon } from '../base/app.ts';
import { systemClock } from '../base/clock.ts';
import { defineFlags } from '../base/flags.ts';
import { untilDone } from './alive.ts';
import { addExporterFlags, collectorsOn, type ExporterFlags, flags } from './exporter.ts';
import { loopbackOnly } from './loopback.ts';
import { pathsOf } from './paths.ts';
import { type RunExtras, runExporter } from './run-exporter.ts';

/** Loopback only: what is served does not exist. */
const SIMULATED_LISTEN = '127.0.0.1:9510';
const LOOK_MS = 1_000;

const own = defineFlags([
  {
    name: 'actuator.listen-address',
    kind: 'string',
    default: '127.0.0.1:9511',
    help: 'address of the actuator that is started beside the exporter',
  },
]);

export function startCommand(command: Command): Command {
  const described = command.description(
    'run the exporter here, and beside it an actuator that writes nothing; without AMD GPUs, both at work on a simulated node',
  );
  return own
    .addTo(addExporterFlags(described))
    .addHelpText(
      'after',
      `
With AMD GPUs this is "nightshift exporter" with the same flags, and beside it "nightshift actuator --enforce=false" where its
rules and the folder of its ledger are there. Where a --path is given it is the exporter alone.

Without AMD GPUs, a simulated node of four MI300X lives in a temporary folder, is served on ${SIMULATED_LISTEN}, on loopback only, with
simulated="true" in amdgpu_info, and an actuator acts on it. "nightshift exporter" and "nightshift actuator" never simulate.`,
    )
    .action(async () => {
      const given = flags.read(command);
      const named = flags.given(command);
      const listen = own.read(command)['actuator.listen-address'];
      const collectors = collectorsOn(command);
      if (named.has('path.sysfs') || named.has('path.procfs')) await runExporter(given, collectors);
      else if (await untilDone(() => hasCards(given))) await runExporter(given, collectors, observing(given, listen));
      else await simulate(given, collectors, named.has('web.listen-address'), listen);
    });
}

/** The actuator beside an exporter of real cards: it decides, logs and counts, and writes nothing. */
function observing(given: ExporterFlags, listen: string): RunExtras {
  let daemon: Daemon | undefined;
  return {
    alongside(running) {
      daemon = running;
    },
    async onReady([first]) {
      if (daemon === undefined) return;
      const { observe } = await import('./start/observe.ts');
      await observe({ exporter: given, listen, url: (first?.url ?? '').replace(/\/$/, '') }, daemon);
    },
  };
}

/** Whether discovery finds a card. */
async function hasCards(given: ExporterFlags): Promise<boolean> {
  const pool = new LanePool({ clock: systemClock, itemDeadline: LOOK_MS });
  try {
    const { devices, kfd, silent } = await survey(pool, pathsOf(given));
    return devices.length > 0 || kfd.length > 0 || silent.length > 0;
  } finally {
    pool.close();
  }
}

/** What a newcomer sees first: a card that gets hot beside inference, quicker than silicon does. */
const FIRST_SIGHT = { model: 'mi300x', cards: 4, scenario: 'hot-card', seed: 1, speed: 10, hz: 10 } as const;

async function simulate(
  given: ExporterFlags,
  collectors: Set<string>,
  addressGiven: boolean,
  actuatorListen: string,
): Promise<void> {
  const listen = addressGiven ? given['web.listen-address'] : [SIMULATED_LISTEN];
  loopbackOnly(
    [...listen, actuatorListen],
    `Use --web.listen-address=${SIMULATED_LISTEN}, or "nightshift exporter", which waits for real cards.`,
  );
  const [{ runSimulated }, { called, lookNext }] = await Promise.all([
    import('./simulated.ts'),
    import('./simulated/look-next.ts'),
  ]);
  const us = called(process.argv[1], process.cwd());
  await runSimulated({ ...given, 'web.listen-address': listen }, collectors, FIRST_SIGHT, {
    actuatorListen: [actuatorListen],
    welcome: (shown) => `
SIMULATED: no AMD GPU here, so these four MI300X do not exist. ${FIRST_SIGHT.speed} s of their life pass in a second.

  ${shown.url}/              the cards at a glance
  ${shown.url}${given['web.telemetry-path']}       what Prometheus scrapes
  ${shown.actuator.url}/              the actuator, acting on this node alone by ${shown.actuator.rules}
                                      (the shipped rules, with mode: enforce and shorter waits)

${lookNext(shown, { scenario: FIRST_SIGHT.scenario, watched: false, gpus: FIRST_SIGHT.cards })}
  ${us} demo --help      other cards, other nights, with Prometheus and Alertmanager
  ${us} doctor           what this machine itself has

Ctrl-C ends it and removes the files.

`,
  });
}
