import type { BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { InvalidSettingError } from "../../../src/errors.js";
import { findSafeCutoff, type Keep } from "../../../src/history/cut.js";
import { ai, human, result, system } from "../../support/make-messages.js";
import { titled } from "../../support/titled.js";

interface Case {
  readonly title: string;
  readonly messages: readonly BaseMessage[];
  readonly keep: Keep;
  readonly expected: number;
}

const turn = () => [
  human("h1"),
  ai("a1", "c", "d"),
  result("tc", "c"),
  result("td", "d"),
  ai("a2"),
  human("h2"),
];

function expectCut(_title: string, { messages, keep, expected }: Case): void {
  expect(findSafeCutoff(messages, keep)).toBe(expected);
}

describe("A cutoff splits no group", () => {
  it.each(
    titled<Case>([
      { title: "it is at the requested place", messages: turn(), keep: { messages: 2 }, expected: 4 },
      { title: "it moves back to include a group", messages: turn(), keep: { messages: 3 }, expected: 1 },
      {
        title: "even from the last result of the group",
        messages: turn(),
        keep: { messages: 4 },
        expected: 1,
      },
      {
        title: "it moves back over interleaved groups",
        messages: [human("h"), ai("a", "c"), ai("b", "d"), result("tc", "c"), result("td", "d"), human("h2")],
        keep: { messages: 2 },
        expected: 1,
      },
      {
        title: "a late result keeps everything between it and its call",
        messages: [human("h"), ai("a", "c"), human("h2"), human("h3"), result("tc", "c"), human("h4")],
        keep: { messages: 3 },
        expected: 1,
      },
      {
        title: "a repeated id is another call",
        messages: [human("h"), ai("a", "c"), result("t1", "c"), ai("b", "c"), result("t2", "c")],
        keep: { messages: 2 },
        expected: 3,
      },
      {
        title: "the open group stays complete while calls are pending",
        messages: [human("h"), ai("a", "c", "d"), result("tc", "c")],
        keep: { messages: 0 },
        expected: 1,
      },
      {
        title: "an earlier dangling call keeps nothing",
        messages: [human("h"), ai("a", "c"), human("h2"), human("h3")],
        keep: { messages: 1 },
        expected: 3,
      },
    ]),
  )("%s", expectCut);
});

describe("A cutoff leaves something to summarise", () => {
  it.each(
    titled<Case>([
      {
        title: "it moves forward if going back would leave nothing",
        messages: [ai("a", "c", "d"), result("tc", "c"), result("td", "d"), human("h"), human("h2")],
        keep: { messages: 3 },
        expected: 3,
      },
      {
        title: "it moves forward if there would be only system messages",
        messages: [system("s1"), system("s2"), human("h"), human("h2"), human("h3")],
        keep: { messages: 3 },
        expected: 3,
      },
      {
        title: "it is 0 if the history is one group",
        messages: [ai("a", "c"), result("tc", "c")],
        keep: { messages: 1 },
        expected: 0,
      },
      {
        title: "it is 0 if there are only system messages",
        messages: [system("s1"), system("s2")],
        keep: { messages: 0 },
        expected: 0,
      },
      { title: "it is 0 if everything is kept", messages: turn(), keep: { messages: 6 }, expected: 0 },
      {
        title: "it is 0 if more is kept than there is",
        messages: turn(),
        keep: { messages: 60 },
        expected: 0,
      },
      { title: "it is 0 for no messages", messages: [], keep: { messages: 0 }, expected: 0 },
      {
        title: "it is the length if nothing is kept",
        messages: turn(),
        keep: { messages: 0 },
        expected: 6,
      },
    ]),
  )("%s", expectCut);
});

describe("A cutoff by tokens", () => {
  // Each message has four tokens for itself and ten for its text.
  const messages = ["h1", "h2", "h3", "h4"].map((id) => human(id, "x".repeat(40)));

  it.each([
    [0, 4],
    [13, 4],
    [14, 3],
    [28, 2],
    [55, 1],
    [56, 0],
  ])("keeps what has room in %i tokens", (tokens, expected) => {
    expect(findSafeCutoff(messages, { tokens })).toBe(expected);
  });
});

describe("An invalid number is refused by name", () => {
  it.each<[Keep, string]>([
    [{ messages: -1 }, "Expected `messages` to be an integer of 0 or more, got `-1`."],
    [{ messages: 1.5 }, "Expected `messages` to be an integer of 0 or more, got `1.5`."],
    [{ tokens: Number.NaN }, "Expected `tokens` to be an integer of 0 or more, got `NaN`."],
    [
      { tokens: Number.POSITIVE_INFINITY },
      "Expected `tokens` to be an integer of 0 or more, got `Infinity`.",
    ],
  ])("%o", (keep, message) => {
    expect(() => findSafeCutoff(turn(), keep)).toThrow(InvalidSettingError);
    expect(() => findSafeCutoff(turn(), keep)).toThrow(message);
  });
});
