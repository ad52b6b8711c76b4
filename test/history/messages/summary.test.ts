import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { type Coverage, coverageOf, createSummary } from "../../../src/history/summary.js";
import { human } from "../../support/make-messages.js";
import { titled } from "../../support/titled.js";

const keep: Coverage = { kind: "keep", messages: ["a", "b"] };
const archive: Coverage = { kind: "archive", messages: ["a"], calls: ["c"], unanswered: [] };

it("A summary is a human message with the ecosystem's mark, and names what it covers", () => {
  const summary = createSummary("what was said", keep);
  expect(summary).toBeInstanceOf(HumanMessage);
  expect(summary.content).toBe("what was said");
  expect(summary.additional_kwargs).toEqual({ lc_source: "summarization", tether_coverage: keep });
});

it("The text is stored literally", () => {
  expect(createSummary("$& {x} `y`", keep).content).toBe("$& {x} `y`");
});

it.each([keep, archive])("Its coverage is read back: $kind", (coverage) => {
  const summary = createSummary("text", coverage);
  expect(coverageOf(summary)).toEqual(coverage);
  const saved = JSON.parse(JSON.stringify(summary)).kwargs;
  expect(coverageOf(new HumanMessage(saved))).toEqual(coverage);
});

describe("Other messages cover nothing", () => {
  const marked = (coverage: unknown) =>
    new HumanMessage({
      content: "text",
      additional_kwargs: { lc_source: "summarization", tether_coverage: coverage },
    });

  it.each(
    titled([
      { title: "a human message", message: human("h") },
      { title: "a summary that does not name what it covers", message: marked(undefined) },
      {
        title: "a summary that names it in another format",
        message: marked({ kind: "keep", messages: [7] }),
      },
      { title: "a list with a gap", message: marked({ kind: "keep", messages: new Array(1) }) },
      {
        title: "a last message that is not an id",
        message: marked({ kind: "keep", messages: [], asOf: null }),
      },
      {
        title: "an order that is not a list of ids",
        message: marked({ kind: "archive", messages: [], calls: [], order: "a" }),
      },
      {
        title: "unanswered calls that are not a list of ids",
        message: marked({ kind: "archive", messages: [], calls: [], unanswered: [1] }),
      },
      { title: "an archive that names no calls", message: marked({ kind: "archive", messages: [] }) },
      { title: "an unknown kind", message: marked({ kind: "other", messages: [] }) },
      {
        title: "a human message without the mark",
        message: new HumanMessage({ content: "text", additional_kwargs: { tether_coverage: keep } }),
      },
      {
        title: "an AI message with the mark",
        message: new AIMessage({
          content: "text",
          additional_kwargs: { lc_source: "summarization", tether_coverage: keep },
        }),
      },
    ]),
  )("%s", (_title, { message }) => {
    expect(coverageOf(message)).toBeUndefined();
  });
});

it("A summary has an id that hides it in chat UIs, and equal summaries have the same id", () => {
  const { id } = createSummary("what was said", keep);
  expect(id).toMatch(/^do-not-render-[\da-f]{32}$/);
  expect(createSummary("what was said", keep).id).toBe(id);
  expect(createSummary("something else", keep).id).not.toBe(id);
  expect(createSummary("what was said", { ...keep, messages: ["other"] }).id).not.toBe(id);
});
