import { MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { isKnownHistory } from "../../../src/history/reducer/normalize-history.js";
import { PairedMessagesDeltaValue, PairedMessagesValue } from "../../../src/index.js";
import { probeChannel } from "../../../src/threads/langgraph/channels.js";
import { user } from "../../support/thread.js";

describe("probeChannel", () => {
  it.each([
    ["PairedMessagesValue", PairedMessagesValue, true],
    ["PairedMessagesDeltaValue", PairedMessagesDeltaValue, true],
    ["LangGraph's own field", MessagesValue, false],
  ])("shows what the reducer of the channel makes of a write: %s", async (_name, field, isOurs) => {
    const probed: unknown[] = [];
    const graph = new StateGraph(new StateSchema({ messages: field as typeof PairedMessagesValue }))
      .addNode("probe", (_state, config) => {
        probed.push(probeChannel(config, "messages", []));
        return {};
      })
      .addEdge(START, "probe")
      .compile();
    const { messages } = await graph.invoke(user("hi"));
    expect(probed).toEqual([messages]);
    expect(isKnownHistory(probed[0] as never)).toBe(isOurs);
  });

  it("finds nothing outside a graph", () => {
    expect(probeChannel({}, "messages", [])).toBeUndefined();
  });
});
