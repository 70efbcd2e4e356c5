/**
 * `npm run bench`, or `npm run bench -- --quick --only actuator`: what the programs cost, beside what others cost on the same
 * tree in the same run. What is measured is the built program; what measures is TypeScript, which Vite loads.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runnerImport } from 'vite';
import { applyChanges, applyDecisions, emptyBook } from '../../dist/actuator/decide/apply.js';
import { decide } from '../../dist/actuator/decide/decide.js';
import { factsOf } from '../../dist/actuator/facts.js';
import { openLedger } from '../../dist/actuator/ledger/ledger.js';
import { openTriggers } from '../../dist/actuator/triggers.js';
import { LanePool } from '../../dist/amdgpu/lanes/pool.js';
import { AmdNode } from '../../dist/amdgpu/node.js';
import { systemClock } from '../../dist/base/clock.js';
import { createLog } from '../../dist/base/log.js';
import { createExporter } from '../../dist/exporter/app.js';
import { COLLECTORS } from '../../dist/exporter/collectors.js';
import { loadRules } from '../../dist/rules/language/load.js';

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string', multiple: true } },
});
const { module } = await runnerImport(fileURLToPath(new URL('bench.ts', import.meta.url)));
const parts = values.only ?? module.PARTS;
const unknown = parts.find((part) => !module.PARTS.includes(part));
if (unknown !== undefined) {
  console.error(`--only ${unknown}: there are ${module.PARTS.join(' and ')}`);
  process.exit(2);
}
const built = {
  ...{ createExporter, createLog, COLLECTORS, systemClock, AmdNode, LanePool, loadRules, openLedger },
  ...{ emptyBook, applyChanges, applyDecisions, openTriggers, factsOf, decide },
};
const failed = await module.bench(built, { quick: values.quick, parts });
process.exit(failed ? 1 : 0);
