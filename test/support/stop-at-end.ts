import { afterAll } from "vitest";

/** A server that is stopped after the tests of its file, or of its `describe`. */
export function stopAtEnd<Server extends { stop(): Promise<unknown> }>(server: Server): Server {
  afterAll(() => server.stop());
  return server;
}
