/** A server that answers each request with the next list of server-sent events, and keeps the requests, until the test has ended. */

import { createServer } from "node:http";
import { onTestFinished } from "vitest";
import { listen } from "./listen.js";

/** The events of one response. The name of an event is its `type`, as Anthropic and OpenAI have it. */
export type Events = readonly Readonly<Record<string, unknown>>[];

export interface EventServer {
  readonly url: string;
  readonly requests: readonly { readonly path: string; readonly body: Readonly<Record<string, unknown>> }[];
}

export async function startEventServer(...responses: Events[]): Promise<EventServer> {
  const requests: { path: string; body: Record<string, unknown> }[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const events = responses[requests.length] ?? [];
    requests.push({ path: request.url ?? "", body });
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) {
      const name = typeof event["type"] === "string" ? `event: ${event["type"]}\n` : "";
      response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  });
  const { url, stop } = await listen(server);
  onTestFinished(stop);
  return { url, requests };
}
