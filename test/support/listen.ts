import { once } from "node:events";
import type { Server } from "node:http";

export interface Listening {
  /** The address, without a slash at the end. */
  readonly url: string;
  /** Closes the server and cuts responses that are not complete. */
  stop(): Promise<void>;
}

/** Ports of this process's servers. What one test has learned of an address is not about the server of another test. */
const used = new Set<number>();

/** Starts a server on a port of this machine that is free, and that no server of this process has had. */
export async function listen(server: Server): Promise<Listening> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("Expected a TCP port.");
  if (used.has(address.port)) {
    server.close();
    await once(server, "close");
    return listen(server);
  }
  used.add(address.port);
  return {
    url: `http://127.0.0.1:${address.port}`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
