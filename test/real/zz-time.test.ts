import { it } from 'vitest';
import { hotJunction, policies, rulesOf, runActuator } from '../support/actuator.ts';
import { hotNode } from '../support/hot-node.ts';
import { until } from '../support/until.ts';
it('time', async () => {
  const t0 = performance.now(); const lap = (w: string) => console.log(w, (performance.now() - t0).toFixed(0));
  const node = await hotNode({ model: 'mi300x', cards: 1 });
  lap('mounted');
  const b = await runActuator(node.tree, { rules: rulesOf(policies(hotJunction())) });
  lap('started');
  await b.tell({ pci: node.pci() });
  await until('x', () => node.cap() === 525); lap('capped');
  await until('y', () => b.cases()[0]?.state === 'active'); lap('active');
  for (let i = 0; i < 3; i++) { await b.actuator.node.collect(5000); lap('collect'); }
  node.heat(40);
  await until('x', () => node.cap() === 750); lap('back');
  await b.stop(); lap('stopped');
  await node.one.close(); lap('closed');
});
