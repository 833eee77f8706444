// Loaded before a server with `node --import`: writes `listens at <port>` to standard error once the
// server really listens. A test gives it port 0, so that the system chooses: a port that was looked
// for beforehand may be taken before the server is up. What the server says itself does not do: Express 5
// calls back with the failure as well, so that "listening" is also said of a port that is another's.
import net from 'node:net';

const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (...asked) {
  this.once('listening', () => process.stderr.write(`listens at ${this.address().port}\n`));
  return listen.apply(this, asked);
};
