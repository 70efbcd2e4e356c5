import { describe, expect, it } from 'vitest';
import * as board from '../../../amdgpu/formats/board.ts';
import * as carveout from '../../../amdgpu/formats/carveout.ts';
import * as isolation from '../../../amdgpu/formats/isolation.ts';
import * as kfd from '../../../amdgpu/formats/kfd.ts';
import * as levels from '../../../amdgpu/formats/levels.ts';
import * as odclk from '../../../amdgpu/formats/odclk.ts';
import * as partition from '../../../amdgpu/formats/partition.ts';
import * as pcie from '../../../amdgpu/formats/pcie.ts';
import * as perf from '../../../amdgpu/formats/perf.ts';
import * as ras from '../../../amdgpu/formats/ras.ts';
import * as scalar from '../../../amdgpu/formats/scalar.ts';
import * as uevent from '../../../amdgpu/formats/uevent.ts';
import * as xgmi from '../../../amdgpu/formats/xgmi.ts';
import * as fdinfo from '../../../linux/fdinfo.ts';
import * as stat from '../../../linux/stat.ts';

const modules = {
  board,
  carveout,
  isolation,
  kfd,
  levels,
  odclk,
  partition,
  pcie,
  perf,
  ras,
  scalar,
  uevent,
  xgmi,
  fdinfo,
  stat,
};
const parsers = Object.entries(modules).flatMap(([module, exported]) =>
  Object.entries(exported)
    .filter(([name, value]) => name.startsWith('parse') && typeof value === 'function')
    .map(([name, value]) => ({ name: `${module}.${name}`, parse: value as (text: string) => unknown })),
);

/** Openings that lead into the longest part of some format, and what is then repeated. */
const OPENINGS = [
  '',
  '0: ',
  '0 : ',
  '0:',
  'ue: ',
  'OD_SCLK:\n',
  'OD_RANGE:\nSCLK: ',
  '0x',
  'drm-driver: x\ndrm-total-x: ',
  '1 (',
  'DRIVER=',
];
const REPEATED = [
  '0',
  ' ',
  'A',
  '\t',
  '*',
  ':',
  '\0',
  '0 ',
  'A ',
  '\n',
  ': ',
  '0: ',
  '(',
  ') ',
  ',',
  '\r\n',
  '-',
  '.',
  '01 ',
];
const LENGTH = 30_000;

/** Quadratic work on 30 000 characters is half a billion steps; linear work is done in a millisecond. */
const FAR_TOO_LONG_MS = 400;

/** Milliseconds of the fastest of three tries; one is enough unless something else held the processor. */
function fastest(work: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 3 && best >= FAR_TOO_LONG_MS; attempt++) {
    const begun = performance.now();
    work();
    best = Math.min(best, performance.now() - begun);
  }
  return best;
}

describe('every parser', () => {
  it('is known to this test', () => {
    expect(parsers.length).toBeGreaterThanOrEqual(38);
  });

  it.each(parsers)('$name neither throws nor slows down on a long hostile text', ({ parse }) => {
    for (const opening of OPENINGS)
      for (const repeated of REPEATED) {
        const text = opening + repeated.repeat(LENGTH / repeated.length);
        const took = fastest(() => {
          for (const ending of ['', ' x']) parse(text + ending);
        });
        expect(took, JSON.stringify(opening + repeated)).toBeLessThan(FAR_TOO_LONG_MS);
      }
  });

  it.each(parsers)('$name gives the same for a text and for its copy with NULs behind it', ({ parse }) => {
    const texts = [
      '',
      '\n',
      '3\n',
      '0: 500Mhz *\n1: 2100Mhz\n',
      'ue: 1\nce: 2\n',
      'SPX\n',
      '16.0 GT/s PCIe\n',
      'simd_count 4\n',
    ];
    for (const text of texts) expect(parse(`${text}${'\0'.repeat(4096 - text.length)}`), text).toEqual(parse(text));
  });
});
