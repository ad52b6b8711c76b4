import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { pairedMessagesReducer, REPAIR_CHANNEL } from "../../../src/history/reducer/paired-messages.js";
import type { Repair } from "../../../src/history/reducer/repair.js";
import { pairedMessagesDeltaReducer } from "../../../src/threads/langgraph/channels.js";
import { ai, human, removal, result } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";

let published: Repair[] = [];
const keep = (repair: unknown) => published.push(repair as Repair);

beforeEach(() => {
  published = [];
  subscribe(REPAIR_CHANNEL, keep);
});
afterEach(() => unsubscribe(REPAIR_CHANNEL, keep));

describe("The reducer of a channel", () => {
  it("returns the same messages as the pure reducer", () => {
    const state = pairedMessagesReducer([ai("a", "c")], [human("h"), result("t", "c")]);
    expect(outline(state)).toBe("a t h");
  });

  it("begins with no messages if the channel has no value", () => {
    expect(outline(pairedMessagesReducer(undefined, human("h")))).toBe("h");
  });
});

describe("Rule 12: repairs are published", () => {
  it("on the channel with this name", () => {
    expect(REPAIR_CHANNEL).toBe("langgraph-tether:repair");
  });

  it("each with its key", () => {
    const orphan = result("t", "c");
    pairedMessagesReducer([human("h")], [orphan, removal("gone"), 7]);
    expect(published).toEqual([
      { kind: "orphan-refused", message: orphan, key: "orphan-refused:t" },
      { kind: "removal-ignored", id: "gone", key: "removal-ignored:gone" },
      { kind: "value-refused", value: 7, key: "value-refused:7" },
    ]);
  });

  it("with the same key when the same repair is made again", () => {
    const update = [result("", "c", "hi"), { content: "no message" }];
    pairedMessagesReducer([human("h")], update);
    pairedMessagesReducer([human("h")], update);
    const keys = published.map(({ key }) => key);
    expect(keys).toHaveLength(4);
    expect(keys.slice(2)).toEqual(keys.slice(0, 2));
  });

  it("by the delta reducer as well", () => {
    pairedMessagesDeltaReducer([], [[result("t", "c")], human("h")]);
    expect(published.map(({ kind }) => kind)).toEqual(["orphan-refused"]);
  });

  it("and nothing is published if nothing was repaired", () => {
    pairedMessagesReducer([ai("a", "c")], [result("t", "c"), human("h")]);
    expect(published).toEqual([]);
  });
});
