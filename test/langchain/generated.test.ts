/** Generated histories in threads of agents, with summaries and over a delta channel. */

import type { BaseMessage } from "@langchain/core/messages";
import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { createAgent } from "langchain";
import { expect, it } from "vitest";
import { copyMessage } from "../../src/history/message.js";
import { readFullHistory } from "../../src/index.js";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { buildForeign, foreignHistories } from "../support/dialect-arbitraries.js";
import { expectWarnings, OLD_PACKAGES } from "../support/expect-warnings.js";
import { FunctionModel, shortSummariser } from "../support/function-model.js";
import { runs } from "../support/law-runs.js";
import { type AnyAgent, openAgentThread } from "../support/open-agent-thread.js";
import { createProbe } from "../support/probe-tools.js";
import { calls } from "../support/scripted-model.js";
import { user } from "../support/thread.js";

expectWarnings(/^(?:Unknown message role|Unsupported role found .*): critic$/, OLD_PACKAGES);

/** LangGraph writes missing ids into the messages of a delta channel, and throws if it cannot. Nothing is stored then. */
function writableWithoutId(message: BaseMessage): BaseMessage {
  return !message.id && Object.isFrozen(message) ? copyMessage(message, {}) : message;
}

it.each([
  { delta: false, coveredMessages: "keep" },
  { delta: false, coveredMessages: "archive" },
  { delta: true, coveredMessages: "archive" },
] as const)(
  "no request is refused, no call runs twice, and no message is lost: %j",
  async ({ delta, coveredMessages }) => {
    await fc.assert(
      fc.asyncProperty(foreignHistories(), async (foreign) => {
        const { fast, runs: ran } = createProbe();
        const model = new FunctionModel(({ messages, index }) =>
          messages.at(-1)?.type === "tool" ? "Done." : calls(["fast", { label: `${index}` }]),
        );
        const store = new InMemoryStore();
        const agent = createAgent({
          model,
          tools: [fast],
          checkpointer: new MemorySaver(),
          store,
          stateSchema: tetherState({ delta }),
          middleware: [
            tetherMiddleware({
              summary: { maxMessagesBeforeSummary: 6, summaryModel: shortSummariser(), coveredMessages },
            }),
          ],
        }) as unknown as AnyAgent;
        const thread = openAgentThread(agent);
        const messages = buildForeign(foreign);
        await agent.graph.updateState(thread.config, {
          messages: delta ? messages.map(writableWithoutId) : messages,
        });
        const readIds = async () => {
          const { values } = await agent.graph.getState(thread.config);
          return (await readFullHistory(store, "1", values)).map(({ id }) => id);
        };
        const before = await readIds();
        for (const text of ["Go.", "And?"]) expect((await thread.run(user(text))).error).toBeUndefined();
        expect(model.refused).toEqual([]);
        expect(new Set(ran).size).toBe(ran.length);
        const after = new Set(await readIds());
        expect(before.filter((id) => !after.has(id))).toEqual([]);
      }),
      runs(6),
    );
  },
);
