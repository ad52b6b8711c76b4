import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { markRecovered } from "../../../src/history/result.js";
import { ai, human, removal, result } from "../../support/make-messages.js";

const ids = (history: readonly unknown[], ...update: readonly unknown[]) =>
  reduceMessages(history, update).messages.map(({ id }) => id);

describe("a recovered message", () => {
  const history = [human("h1"), ai("a1", "c1", "c2"), result("r1", "c1"), human("h2")];

  it.each([
    ["after a message", "h1", ["h1", "new", "a1", "r1", "h2"]],
    ["after the results of a message with calls", "a1", ["h1", "a1", "r1", "new", "h2"]],
    ["after all results of the group of a result", "r1", ["h1", "a1", "r1", "new", "h2"]],
    ["first", "", ["new", "h1", "a1", "r1", "h2"]],
    ["last, if the message that it follows is not there", "unknown", ["h1", "a1", "r1", "h2", "new"]],
  ])("is placed %s", (_place, after, expected) => {
    expect(ids(history, markRecovered(ai("new"), after))).toEqual(expected);
  });

  it("can follow another one, and can have calls", () => {
    const first = markRecovered(ai("x", "c3"), "h1");
    expect(ids(history, first, markRecovered(human("y"), "x"), result("r3", "c3"))).toEqual([
      "h1",
      "x",
      "r3",
      "y",
      "a1",
      "r1",
      "h2",
    ]);
  });

  it("keeps its place when it is written again", () => {
    const { messages } = reduceMessages(history, markRecovered(ai("x"), "h1"));
    expect(ids(messages, markRecovered(ai("x"), "h2"))).toEqual(["h1", "x", "a1", "r1", "h2"]);
  });

  it("is appended if the message that it follows was removed by the same update", () => {
    expect(ids(history, removal("h1"), markRecovered(ai("x"), "h1")).at(-1)).toBe("x");
  });

  it.each([{ after: 1 }, {}, null, "h1", true])("is a message like any other if its mark is %j", (mark) => {
    const message = human("x");
    message.additional_kwargs["tether_recovered"] = mark;
    expect(ids(history, message).at(-1)).toBe("x");
  });
});
