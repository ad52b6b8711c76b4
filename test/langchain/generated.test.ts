/** Generated histories in threads of agents, with summaries and over a delta channel. */

import type { BaseMessage } from "@langchain/core/messages";
import { expect } from "vitest";
import { readFullHistory } from "../../src/index.js";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { buildForeign, foreignHistories } from "../support/dialect-arbitraries.js";
import { copyMessage } from "../support/internals.js";
import { calls, FunctionModel, shortSummariser } from "../support/models.js";
import { openAgent } from "../support/open-thread.js";
import { expectWarnings, law, OLD_PACKAGES } from "../support/test-tools.js";
import { user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

expectWarnings(/^(?:Unknown message role|Unsupported role found .*): critic$/, OLD_PACKAGES);

/** LangGraph writes missing ids into the messages of a delta channel, and throws if it cannot. Nothing is stored then. */
function writableWithoutId(message: BaseMessage): BaseMessage {
  return !message.id && Object.isFrozen(message) ? copyMessage(message, {}) : message;
}

for (const [delta, coveredMessages] of [
  [false, "keep"],
  [false, "archive"],
  [true, "archive"],
] as const)
  law(
    `no request is refused, no call runs twice, and no message is lost: delta ${delta}, ${coveredMessages}`,
    6,
    [foreignHistories()],
    async (foreign) => {
      const { fast, runs: ran } = createProbe();
      const model = new FunctionModel(({ messages, index }) =>
        messages.at(-1)?.type === "tool" ? "Done." : calls(["fast", { label: `${index}` }]),
      );
      const summary = { maxMessagesBeforeSummary: 6, summaryModel: shortSummariser(), coveredMessages };
      const options = { stateSchema: tetherState({ delta }), middleware: [tetherMiddleware({ summary })] };
      const thread = openAgent({ model, tools: [fast], ...options });
      const messages = buildForeign(foreign);
      await thread.update(delta ? messages.map(writableWithoutId) : messages);
      const readIds = async () =>
        (await readFullHistory(thread.agent.graph, thread.config)).map(({ id }) => id);
      const before = await readIds();
      for (const text of ["Go.", "And?"]) expect((await thread.run(user(text))).error).toBeUndefined();
      expect(model.refused).toEqual([]);
      expect(new Set(ran).size).toBe(ran.length);
      const after = new Set(await readIds());
      expect(before.filter((id) => !after.has(id))).toEqual([]);
    },
  );
