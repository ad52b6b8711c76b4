/** What LangSmith reads of a run: its part in an agent. */

import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { createLookGraph } from "../support/create-look-graph.js";
import { textOf } from "../support/long-histories.js";
import { oneNode } from "../support/plain-graph.js";
import { expectWarnings } from "../support/test-tools.js";
import { user } from "../support/thread.js";

expectWarnings(/^`summaryModel` has no effect/);

/** Notes what a tracer is told when a run of a chain or a model starts. */
class Watching extends BaseCallbackHandler {
  readonly name = "watching";
  readonly seen: { readonly what: string; readonly type: unknown; readonly tags: readonly string[] }[] = [];

  #note(what: string, metadata: unknown, tags: unknown): void {
    this.seen.push({ what, type: Object(metadata).ls_agent_type, tags: (tags ?? []) as string[] });
  }

  override handleChainStart(
    ...given: Parameters<NonNullable<BaseCallbackHandler["handleChainStart"]>>
  ): void {
    const [, , , parent, tags, metadata, , name] = given as unknown[];
    if (parent === undefined || name === "agent-run") this.#note(String(name), metadata, tags);
  }

  override handleChatModelStart(
    ...given: Parameters<NonNullable<BaseCallbackHandler["handleChatModelStart"]>>
  ): void {
    const [, , , , , tags, metadata, name] = given as unknown[];
    this.#note(`model ${name}`, metadata, tags);
  }
}

it("a run is the root, and the request for a summary is a compaction", async () => {
  const { graph } = createLookGraph(() => "done", {
    maxTokensBeforeSummary: 400,
    messagesToKeep: 1,
    name: "looker",
  });
  const watching = new Watching();
  const messages = [new HumanMessage(textOf(900, "old")), new AIMessage("ok"), new HumanMessage("go")];
  await graph.invoke({ messages }, { callbacks: [watching], metadata: { own: 1 } });
  expect(watching.seen.map(({ what, type }) => `${what}: ${type}`)).toEqual([
    "looker: root",
    "model summarize: compaction",
    expect.stringMatching(/^model .*: root$/),
  ]);
  expect(watching.seen.map(({ tags }) => tags.includes("compaction"))).toEqual([false, true, false]);
});

it("a graph inside another one is a subagent, and a caller can name the part itself", async () => {
  const { graph, model } = createLookGraph(() => "done");
  const parent = oneNode((state, config) => graph.invoke(state, config as never));
  const watching = new Watching();
  await parent.invoke(user("go"), { callbacks: [watching] });
  expect(watching.seen.filter(({ what }) => what.startsWith("model")).map(({ type }) => type)).toEqual([
    "subagent",
  ]);
  expect(model.requests).toHaveLength(1);
  const other = new Watching();
  await graph.invoke(user("go"), { callbacks: [other], metadata: { ls_agent_type: "middleware" } });
  expect(new Set(other.seen.map(({ type }) => type))).toEqual(new Set(["middleware"]));
});
