// Attacks on sockets that leave HTTP: an upgrade to an unknown path, and one that breaks off.
import { type Attack, openSocket, pace, settled } from './harness/attack.ts';

const upgrade = (path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';

export const attacks: readonly Attack[] = [
  {
    name: 'asks for an upgrade and resets the connection',
    against: 'sockets',
    metBy: 'every socket has a listener for errors from its first moment (base/network/sockets.ts)',
    run: async (target) => {
      while (!target.isOver()) {
        const sockets = ['/x', '/mqtt', '/x', '/mqtt'].map((path) => {
          const socket = openSocket(target.http);
          socket.write(upgrade(path));
          return socket;
        });
        await Promise.all(sockets.map(settled));
        await pace(2);
        for (const socket of sockets) socket.resetAndDestroy();
      }
    },
  },
  {
    name: 'asks for three hundred upgrades to nowhere with bytes behind them and ends them normally',
    against: 'sockets',
    metBy: 'only a handshake of MQTT over WebSocket leaves HTTP (http/server/upgrades.ts)',
    run: async (target) => {
      const sockets = [];
      for (let n = 0; n < 300 && !target.isOver(); n += 1) {
        const socket = openSocket(target.http);
        socket.end(`${upgrade('/x')}bytes behind it`);
        socket.resume();
        sockets.push(socket);
        if (n % 20 === 19) await settled(socket);
      }
      while (!target.isOver()) await pace(50);
      for (const socket of sockets) socket.destroy();
    },
  },
];
