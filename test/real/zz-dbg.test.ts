import { it } from 'vitest';
import { LanePool } from '/work/main/amdgpu/lanes/pool.ts';
import { systemClock } from '/work/main/base/clock.ts';
import { mountNode } from '/work/main/test/support/relay.ts';
import { devicePath } from '/work/main/sim/files/paths.ts';
it('x', async () => {
  const one = await mountNode({ model: 'mi210', cards: 1 });
  const pool = new LanePool({ clock: systemClock, itemDeadline: 2000, writable: true });
  const dir = `${one.mount}/${devicePath(one.node.gpus[0])}`;
  for (let i = 0; i < 6; i++) {
    const t = performance.now();
    const o = await pool.run([{ owner: 'x', item: { op: 'list', dirs: [dir, `${one.mount}/sys/class/drm`] } }], 5000);
    console.log(performance.now() - t, JSON.stringify(o).slice(0, 200), pool.stats);
  }
  const t = performance.now();
  const o = await pool.run(Array.from({ length: 8 }, () => ({ owner: 'y', item: { op: 'read', files: [`${dir}/vendor`, `${dir}/device`] } as const })), 5000);
  console.log(performance.now() - t, JSON.stringify(o).slice(0, 300), pool.stats);
  pool.close();
  await one.close();
}, 60000);
