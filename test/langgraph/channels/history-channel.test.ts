import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { type BaseChannel, DeltaChannel } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  HistoryChannel,
  UPDATES_BETWEEN_SNAPSHOTS,
  withHistoryChannel,
} from "../../../src/threads/langgraph/channels.js";

const calling = new AIMessage({
  id: "a",
  content: "",
  tool_calls: [
    { id: "c1", name: "look", args: {} },
    { id: "c2", name: "look", args: {} },
  ],
});
const result = (id: string) => new ToolMessage({ id: `t${id}`, content: id, tool_call_id: id });
const open = (): HistoryChannel => new HistoryChannel().fromCheckpoint([calling] as never);

describe("The channel of the history", () => {
  it("is LangGraph's delta channel, also as a copy", () => {
    expect(open().lc_graph_name).toBe("DeltaChannel");
    expect(open()).toBeInstanceOf(DeltaChannel);
    expect(
      open()
        .get()
        .map(({ id }) => id),
    ).toEqual(["a"]);
    expect(open().equals(new HistoryChannel())).toBe(true);
  });

  it.each([
    ["results of several tasks", [[result("c1")], [result("c2")]], UPDATES_BETWEEN_SNAPSHOTS],
    [
      "one other message",
      [[result("c1")], [result("c2"), new HumanMessage("note")]],
      UPDATES_BETWEEN_SNAPSHOTS,
    ],
    [
      "other messages of several tasks",
      [
        [result("c1"), new HumanMessage("one")],
        [result("c2"), new HumanMessage("two")],
      ],
      1,
    ],
  ])("after %s the next checkpoint is whole only if their order matters", (_, writes, frequency) => {
    const channel = open();
    channel.update(writes);
    expect(channel.snapshotFrequency).toBe(frequency);
  });

  it("replaces the channel of a graph", () => {
    const channels: Record<string, BaseChannel> = {};
    expect(withHistoryChannel({ channels }).channels["messages"]).toBeInstanceOf(HistoryChannel);
  });
});
