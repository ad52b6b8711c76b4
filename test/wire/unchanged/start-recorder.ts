/** An HTTP server that notes every request and refuses it, and a `fetch` that leads every host to it. */

import { createServer } from "node:http";
import { listen } from "../../support/listen.js";

export interface Recorded {
  /** The address that the client meant. */
  readonly url: string;
  readonly body: unknown;
}

export interface Recorder {
  /** The server itself, for clients that take an address but no `fetch`. */
  readonly url: string;
  /** Sends a request to the server, whatever its host is. The network is never reached. */
  readonly fetch: typeof fetch;
  /** The requests that arrived while this ran. Its error is expected, because every request is refused. */
  record(run: () => unknown): Promise<Recording>;
  stop(): Promise<void>;
}

export interface Recording {
  readonly requests: readonly Recorded[];
  readonly error: unknown;
}

const MEANT = "x-meant-url";

/** No client repeats it, and no dialect is changed after it. */
const REFUSAL = { error: { message: "This server only records.", type: "authentication_error", code: "x" } };

export async function startRecorder(): Promise<Recorder> {
  const requests: Recorded[] = [];
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString();
    const meant = request.headers[MEANT];
    // Cerebras' client first opens the connection with an empty request.
    if (text !== "")
      requests.push({ url: typeof meant === "string" ? meant : (request.url ?? ""), body: JSON.parse(text) });
    response.writeHead(401, { "content-type": "application/json" }).end(JSON.stringify(REFUSAL));
  });
  const { url, stop } = await listen(server);
  const toServer = globalThis.fetch;
  return {
    url,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const body = await request.text();
      const headers = { "content-type": "application/json", [MEANT]: request.url };
      return toServer(url, { method: "POST", headers, body });
    },
    record: async (run) => {
      requests.length = 0;
      let error: unknown;
      try {
        await run();
      } catch (thrown) {
        error = thrown;
      }
      return { requests: [...requests], error };
    },
    stop,
  };
}
