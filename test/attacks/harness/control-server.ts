// Measures the machine itself: a bare server in its own process, called beside the service at the same moments. A GET
// is answered at once; a POST is written to a file and synced before the answer, like a push. Prints its port.
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
