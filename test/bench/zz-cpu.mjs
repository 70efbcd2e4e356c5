import { spawn } from 'node:child_process';
import { runnerImport } from 'vite';
const { module: c } = await runnerImport('/work/main/test/bench/client.ts');
const { module: pr } = await runnerImport('/work/main/test/bench/processes.ts');
const s=ms=>new Promise(r=>setTimeout(r,ms));
for (const extra of [[],['--no-collector.process'],['--collector.process.interval=60s']]) {
const ch=spawn(process.execPath,['dist/cli/main.js','exporter','--path.sysfs=/dev/shm/tree-a/sys','--web.listen-address=127.0.0.1:9777',...extra],{stdio:'ignore'}); await s(2500);
const cl=new c.Client(9777);
for (let i=0;i<300;i++) await cl.ask('identity');
const per=()=>pr.familyOf(ch.pid).map(p=>pr.cpuSeconds([p]));
async function m1(name, enc, n=12){ await s(1000); const t=performance.now(), a=per(); for(let i=0;i<n;i++){ if(enc) await cl.ask(enc); await s(1000);} const b=per(); const dt=(performance.now()-t)/1000; console.log(extra.join(), name, b.map((x,i)=>((x-a[i])/dt*100).toFixed(2)+'%').join(' ')); }
await m1('idle'); await m1('identity 1/s','identity'); 
cl.close(); ch.kill('SIGTERM'); await s(800);
}
process.exit(0)
