/**
 * What one user sends touches nobody else: whatever a provider refuses in one thread, the requests of another thread of
 * the same model are those of a process in which the first thread never was.
 */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { createAgent } from "langchain";
import { expect } from "vitest";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { clientOf, PROVIDERS } from "../support/clients.js";
import { FORGED_WORDS, QUOTATIONS, REPORTED_WORDS, SAID } from "../support/reported-words.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { expectWarnings, hastenRetries, law, stopAtEnd } from "../support/test-tools.js";
import { inThread } from "../support/thread.js";

const strict = stopAtEnd(await startStrictProvider());
expectWarnings(/./);

type Model = Awaited<ReturnType<typeof clientOf>>;

const AGENTS = {
  graph: (model: Model) => createAgentGraph({ model, checkpointer: new MemorySaver() }),
  middleware: (model: Model) =>
    createAgent({ model, tools: [], middleware: [tetherMiddleware()], checkpointer: new MemorySaver() })
      .graph,
} as const;

const PICTURE = {
  type: "image_url",
  image_url: {
    url: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  },
};

/** A long thread with calls whose ids `strict` would change, and a picture that it would describe. */
const silent = (): BaseMessage[] => [
  new HumanMessage({ id: "u1", content: [{ type: "text", text: "Look." }, PICTURE] as never }),
  new AIMessage({
    id: "a1",
    content: "I look.",
    tool_calls: [{ id: "call_abc_123", name: "look", args: { place: "here" } }],
  }),
  new ToolMessage({
    id: "r1",
    content: "words and words ".repeat(3_000),
    tool_call_id: "call_abc_123",
    name: "look",
  }),
  new AIMessage({ id: "a2", content: "Seen." }),
  new HumanMessage({ id: "u2", content: "And now?" }),
];

async function requestOfSilent(kind: keyof typeof AGENTS, model: Model): Promise<string> {
  const before = strict.requests.length;
  await AGENTS[kind](model).invoke({ messages: silent() } as never, inThread("silent"));
  const bodies = JSON.stringify(strict.requests.slice(before).map(({ body }) => body));
  return bodies.replaceAll(/(?:words and )+/g, (words) => `${words.length} characters`);
}

const refused = fc.record({
  status: fc.constantFrom(400, 400, 400, 413, 422, 403, 404, 415, 429, 500),
  body: fc.oneof(
    fc.tuple(fc.constantFrom(...Object.values(SAID)), fc.constantFrom(...REPORTED_WORDS)).map(
      ([say, words]) =>
        () =>
          say(words),
    ),
    fc.constantFrom(...Object.values(QUOTATIONS)).map((quote) => quote),
  ),
  /** How many requests are refused, before one is accepted. */
  times: fc.integer({ min: 1, max: 4 }),
  forged: fc.constantFrom(...FORGED_WORDS),
  length: fc.constantFrom(0, 0, 100, 400_000),
  pictures: fc.nat(2),
});

for (const kind of ["graph", "middleware"] as const)
  law(
    `${kind}: a refusal in one thread changes no request of another`,
    60,
    [fc.constantFrom(...PROVIDERS), refused],
    async (provider, { status, body, times, forged, length, pictures }) => {
      hastenRetries();
      const alone = await requestOfSilent(kind, await clientOf(provider, strict));
      const model = await clientOf(provider, strict);
      const text = `${"so ".repeat(length / 3)}${forged}`;
      const content = [{ type: "text", text }, ...Array.from({ length: pictures }, () => PICTURE)];
      strict.failNext(...Array.from({ length: times }, () => ({ status, body: body(forged) })));
      const loud = AGENTS[kind](model);
      await loud
        .invoke({ messages: [new HumanMessage({ content: content as never })] } as never, inThread("loud"))
        .catch(() => {});
      strict.failNext();
      expect(await requestOfSilent(kind, model)).toBe(alone);
    },
  );
