import { spawn } from 'node:child_process';
import { runnerImport } from 'vite';
const { module: c } = await runnerImport('/work/main/test/bench/client.ts');
const s=ms=>new Promise(r=>setTimeout(r,ms));
const ch=spawn(process.execPath,['--cpu-prof','--cpu-prof-interval=200','--cpu-prof-dir=/tmp/nb/prof','dist/cli/main.js','exporter','--path.sysfs=/dev/shm/tree-a/sys','--web.listen-address=127.0.0.1:9777'],{stdio:'ignore'}); await s(2500);
const cl=new c.Client(9777);
for (let i=0;i<30;i++) { await cl.ask('identity'); await s(1000);} 
cl.close(); ch.kill('SIGTERM'); await s(1500);
process.exit(0)
