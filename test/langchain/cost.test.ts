/** What a model call costs besides the request. LangChain validates the complete state at every call. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { createMiddleware } from "langchain";
import { expect, it } from "vitest";
import { tetherMiddleware } from "../../src/langchain.js";
import { isKnownHistory, reduceMessages } from "../support/internals.js";
import { calls, FunctionModel } from "../support/models.js";
import { openAgent } from "../support/open-thread.js";
import { expectWarnings } from "../support/test-tools.js";
import { createProbe } from "../support/tools.js";

expectWarnings(/^`summary` has no effect/);

/** How often `run` reads a property of an item of the list. */
function countReads<T extends object>(items: readonly T[], run: (items: readonly T[]) => void): number {
  let reads = 0;
  const counted = items.map(
    (item) =>
      new Proxy(item, {
        get: (target, key, receiver) => {
          reads += 1;
          return Reflect.get(target, key, receiver);
        },
      }),
  );
  run(counted);
  return reads;
}

const many = () =>
  Array.from({ length: 1_000 }, (_, index) => new HumanMessage({ id: `h${index}`, content: "x" }));

it("the state is validated without a look at its messages", () => {
  const { messages } = tetherMiddleware().stateSchema?.fields ?? {};
  const schema = messages?.inputSchema as unknown as { parse(value: unknown): unknown };
  const readsWith = (validations: number): number =>
    countReads(many(), (counted) => {
      const history = reduceMessages([], counted).messages;
      for (let count = 0; count < validations; count += 1) expect(schema.parse(history)).toBe(history);
    });
  // What is known of a class is read once.
  readsWith(0);
  expect(readsWith(100)).toBe(readsWith(0));
  // A list that has not passed the reducer is read.
  expect(countReads(many(), (counted) => schema.parse(counted))).toBeGreaterThan(0);
});

it("at every model call the messages have passed the reducer, and are sent without copies", async () => {
  const { fast } = createProbe();
  const seen: { known: boolean; messages: readonly BaseMessage[] }[] = [];
  const watching = createMiddleware({
    name: "Watching",
    wrapModelCall: (request, handler) => {
      const { messages } = request.state;
      seen.push({ known: isKnownHistory(messages), messages: [...messages] });
      return handler(request);
    },
  });
  const model = new FunctionModel(({ index }) => (index % 3 === 2 ? "Done." : calls(["fast"])));
  const middleware = [watching, tetherMiddleware({ dialect: "openai", summary: {} })];
  const thread = openAgent({ model, tools: [fast], middleware });
  await thread.update(many().slice(0, 50));
  for (const text of ["Go.", "And?"]) await thread.send(text);
  expect(seen.map(({ known }) => known)).toEqual(Array(6).fill(true));
  for (const [call, { messages }] of model.requests.entries()) {
    expect(messages).toHaveLength(seen[call]?.messages.length ?? 0);
    for (const [index, message] of messages.entries()) expect(message).toBe(seen[call]?.messages[index]);
  }
});
