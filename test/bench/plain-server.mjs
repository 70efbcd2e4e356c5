/** plain-server PORT BYTES: an HTTP server that has nothing to find out: a text of that length lies ready. */
import { createServer } from 'node:http';

const [port, bytes] = process.argv.slice(2).map(Number);
const line = 'plain_metric_name_of_ordinary_length{gpu="0",sensor="junction"} 12345678\n';
const text = line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);

createServer((_request, response) => {
  response.setHeader('Content-Type', 'text/plain; version=0.0.4; charset=utf-8');
  response.end(text);
}).listen(port, '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
