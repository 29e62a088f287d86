// Attacks by connections: many that send nothing, and many that open and close.
import { type Attack, openSocket, pace, settled } from './harness/attack.ts';

const connectionsMax = 3_000;

export const attacks: readonly Attack[] = [
  {
    name: 'opens three thousand connections and says nothing',
    against: 'shares',
    metBy: 'connections are bounded, and an honest one costs little',
    run: async (target) => {
      const sockets = [];
      for (let n = 0; n < connectionsMax && !target.isOver(); n += 1) {
        const socket = openSocket(n % 2 === 0 ? target.http : target.mqtt);
        sockets.push(socket);
        if (n % 50 === 49) await settled(socket);
      }
      while (!target.isOver()) await pace(50);
      for (const socket of sockets) socket.destroy();
    },
  },
  {
    name: 'connects and resets as fast as it can',
    against: 'sockets',
    metBy: 'a connection that ends is forgotten at once',
    run: async (target) => {
      while (!target.isOver()) {
        const sockets = Array.from({ length: 50 }, (_, n) => openSocket(n % 2 === 0 ? target.http : target.mqtt));
        await Promise.all(sockets.map(settled));
        for (const socket of sockets) socket.resetAndDestroy();
      }
    },
  },
];
