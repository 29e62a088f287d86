// The baseline of MQTT: a bare aedes, no accounts, nothing kept beyond memory. Started by sections/mqtt.ts in a
// process of its own.
import { type AddressInfo, createServer } from 'node:net';
import { Aedes } from 'aedes';

const broker = await Aedes.createBroker();
const server = createServer((socket) => broker.handle(socket));
server.listen({ host: '127.0.0.1', port: 0 }, () => {
  console.log(JSON.stringify({ msg: 'ready', mqtt: (server.address() as AddressInfo).port }));
});
process.on('SIGTERM', () => process.exit(0));
