// The machine's own measure: a bare server in a process of its own, asked beside the service at the same moments. A GET
// answers at once; a POST is written to a file and synced before it is answered, as a push is. Prints its port.
import { open } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const file = await open(process.argv[2] ?? '', 'a');
const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    if (request.method === 'GET') response.end('{}');
    else {
      void file
        .write('a datapoint\n')
        .then(() => file.datasync())
        .then(() => response.writeHead(204).end());
    }
  });
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
