import { it } from 'vitest';
import { planCard } from '/work/main/actuator/settings/plan.ts';
import { factsOf } from '/work/main/test/actuator/settings/fake-card.ts';
it('b', () => {
  const on='a'; const facts=factsOf(on);
  const claims=(['power_cap','gfx_clock','mem_clock'] as const).map((knob)=>({case:'c',on,knob,atMost:1000,safety:false}));
  const knobs=[{on,knob:'power_cap' as const,found:750,wrote:500,state:'settled' as const,attempts:0,notBefore:0,at:0}];
  const settings={power_cap:500,gfx_clock:2100,mem_clock:1300,level:'auto'};
  const run=(n:number)=>{const t=performance.now();for(let i=0;i<n;i++)planCard({on,claims,knobs,settings,facts,now:i});return (performance.now()-t)/n*1000;};
  run(20000); console.log('us per plan', run(100000));
});
