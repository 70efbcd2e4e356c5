/**
 * `npm run bench`, or `npm run bench -- --quick`: what the exporter costs, beside what others cost on the same tree in the same
 * run. What is measured is the built program; what measures is TypeScript, which Vite loads.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runnerImport } from 'vite';
import { createLog } from '../../dist/base/log.js';
import { createExporter } from '../../dist/exporter/app.js';
import { COLLECTORS } from '../../dist/exporter/collectors.js';

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const { module } = await runnerImport(fileURLToPath(new URL('bench.ts', import.meta.url)));
const failed = await module.bench({ createExporter, createLog, COLLECTORS }, values.quick);
process.exit(failed ? 1 : 0);
