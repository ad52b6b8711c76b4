/** Servers for all tests, each of which starts when the first of them asks for it, so that a run without any has none. */

import { createServer } from "node:http";
import { listen } from "../support/listen.js";

export interface StartedServer {
  /** What the tests, which run in other processes, are told of it. JSON. */
  readonly shared: object;
  /** What the server has printed. */
  output(): string;
  stop(): Promise<void>;
}

/** The address answers with what is shared, below `/output` with what the server has printed, or with status 500 and the reason why the server does not run. */
export async function provideLazily(start: () => Promise<StartedServer>): Promise<Listening> {
  let starting: Promise<StartedServer> | undefined;
  const door = createServer(async ({ url: path }, response) => {
    starting ??= start();
    await starting.then(
      ({ shared, output }) => response.end(path === "/output" ? output() : JSON.stringify(shared)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  const { url, stop } = await listen(door);
  return {
    url,
    stop: async () => {
      await stop();
      // Why it did not start, the tests have said.
      const server = await starting?.catch(() => undefined);
      await server?.stop();
    },
  };
}
