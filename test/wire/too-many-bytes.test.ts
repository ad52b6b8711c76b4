/** A request with too many bytes is made again with fewer pictures. Its thread and its text stay as they are. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { clientOf, PROVIDERS } from "../support/clients.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";
import { inThread } from "../support/thread.js";

const strict = stopAtEnd(await startStrictProvider());
type Model = Awaited<ReturnType<typeof clientOf>>;

const TEXT = "a sentence of many words ".repeat(2_000);

/** Two pictures that differ. */
const screenshot = (place: number) => ({
  type: "image",
  mimeType: "image/png",
  data: `iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk${place}M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==`,
});
const shown = (place: number): BaseMessage =>
  new HumanMessage({
    content: [{ type: "text", text: `Look ${place}. ${TEXT}` }, screenshot(place)] as never,
  });

const AGENTS = {
  graph: (model: Model) => createAgentGraph({ model, checkpointer: new MemorySaver() }),
  middleware: (model: Model) =>
    createAgent({ model, tools: [], middleware: [tetherMiddleware()], checkpointer: new MemorySaver() })
      .graph,
};

const REFUSAL = { status: 413, body: { error: { message: "Request Entity Too Large" } } };
const picturesIn = (body: unknown) =>
  [1, 2].filter((place) => JSON.stringify(body).includes(`42mNk${place}`));
const textsIn = (body: unknown) => JSON.stringify(body).split(TEXT.trim()).length - 1;

describe.each(Object.entries(AGENTS))("%s", (_, agentOf) => {
  /** Not all clients send pictures. */
  const providers = PROVIDERS.filter((name) => !name.startsWith("d"));
  it.each(providers)("of %s leaves out the earlier pictures first, and keeps all texts", async (provider) => {
    const agent = agentOf(await clientOf(provider, strict));
    const send = async (message: BaseMessage, thread: string) => {
      const before = strict.requests.length;
      await agent.invoke({ messages: [message] } as never, inThread(thread));
      return strict.requests.slice(before).map(({ body }) => [picturesIn(body), textsIn(body)]);
    };
    await send(shown(1), "1");
    strict.failNext(REFUSAL);
    expect(await send(shown(2), "1")).toEqual([[[2], 2]]);
    // What is described stays described. Nothing else is remembered.
    expect(await send(new HumanMessage(TEXT), "1")).toEqual([[[2], 3]]);
    expect(await send(shown(1), "2")).toEqual([[[1], 1]]);
  });

  it.each(providers)("of %s leaves out the picture of a thread's only message", async (provider) => {
    const agent = agentOf(await clientOf(provider, strict));
    strict.failNext(REFUSAL, REFUSAL);
    const before = strict.requests.length;
    await agent.invoke({ messages: [shown(1)] } as never, inThread("1"));
    const [request, ...others] = strict.requests.slice(before);
    expect(others).toEqual([]);
    expect(picturesIn(request?.body)).toEqual([]);
  });
});
