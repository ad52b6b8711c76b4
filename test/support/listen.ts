import { once } from "node:events";
import type { Server } from "node:http";

export interface Listening {
  /** The address, without a slash at the end. */
  readonly url: string;
  /** Closes the server and cuts responses that are not complete. */
  stop(): Promise<void>;
}

/** Starts a server on a free port of this machine. */
export async function listen(server: Server): Promise<Listening> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("Expected a TCP port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
