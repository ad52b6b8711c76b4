import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { countTextTokens } from "../../../src/history/size.js";
import { coverageOf } from "../../../src/history/summary.js";
import { summaryWording } from "../../../src/threads/summary.js";
import { FunctionModel, shortSummariser } from "../../support/function-model.js";
import { humanOf, squeeze, stepOf, textsOf, tokensOf, turnsOf } from "../../support/long-histories.js";
import { ai, human, result } from "../../support/make-messages.js";
import { outline, snapshot } from "../../support/plain-messages.js";
import { summarizeOnce, transcriptsOf } from "../../support/run-summarize.js";

const history = turnsOf(12, 60);
const HEADING = "## Summary of the conversation so far";

describe("A summary", () => {
  it("comes under its heading, after the messages that it covers, and names them", async () => {
    const { summary, messages, covered } = await summarizeOnce(history, shortSummariser());
    expect(summary?.text).toBe(`${HEADING}\n\nshort summary 0`);
    expect(covered).toEqual(history.slice(0, covered.length).map(({ id }) => id));
    expect(covered.length).toBeGreaterThan(30);
    expect(messages.indexOf(summary as BaseMessage)).toBe(-1);
    expect(messages[covered.length]?.text).toBe(summary?.text);
    expect(messages).toHaveLength(history.length + 1);
  });

  it("is reported by an event with the covered messages and the saved tokens", async () => {
    const { summary, covered, events } = await summarizeOnce(history, shortSummariser());
    const replaced = tokensOf(history.slice(0, covered.length));
    const tokensSaved = replaced - tokensOf([new HumanMessage(summary?.text ?? "")]);
    expect(events).toEqual([{ type: "summary-made", covered, tokensSaved }]);
  });

  it("does not change the messages that it covers", async () => {
    const before = snapshot(history);
    await summarizeOnce(history, shortSummariser());
    expect(snapshot(history)).toEqual(before);
  });

  it("has its heading only once if the summariser also wrote it", async () => {
    const model = new FunctionModel(() => `${HEADING}\n\nall of it`);
    expect((await summarizeOnce(history, model)).summary?.text).toBe(`${HEADING}\n\nall of it`);
  });

  it("is not made if only the request could be covered, and that is not a failure", async () => {
    const model = shortSummariser();
    const { summary, events, summaryAttempt } = await summarizeOnce([humanOf("request", 5000)], model);
    expect([summary, events, model.requests]).toEqual([undefined, [], []]);
    expect(summaryAttempt).toMatchObject({ turn: "request" });
  });
});

describe("The summariser is shown", () => {
  it("all covered messages, in order", async () => {
    const model = shortSummariser();
    const { covered } = await summarizeOnce(history, model);
    const [transcript = ""] = transcriptsOf(model);
    const places = textsOf(history.slice(0, covered.length))
      .filter((text) => text !== "")
      .map((text) => transcript.indexOf(text));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
  });

  it("no message that stays", async () => {
    const model = shortSummariser();
    const { covered } = await summarizeOnce(history, model);
    const [transcript = ""] = transcriptsOf(model);
    for (const { text } of history.slice(covered.length))
      if (text !== "") expect(transcript).not.toContain(text);
  });

  it("a user's words literally", async () => {
    const text = "$& $1 $$ $` $' {messages} {x} %s \\n <b>";
    const model = shortSummariser();
    await summarizeOnce([new HumanMessage({ id: "h", content: text }), ...history], model);
    expect(transcriptsOf(model)[0]).toContain(text);
    const again = shortSummariser();
    const first = await summarizeOnce(history, new FunctionModel(() => text));
    await summarizeOnce(reduceMessages(first.messages, turnsOf(30, 60).slice(48)).messages, again);
    expect(again.requests[0]?.text).toContain(text);
  });

  it("a long conversation in steps, each with the summary so far", async () => {
    const long = turnsOf(150, 100);
    const model = shortSummariser();
    const { covered, summary } = await summarizeOnce(long, model);
    expect(model.requests.length).toBeGreaterThan(3);
    for (const [index, { text }] of model.requests.entries()) {
      expect(countTextTokens(text)).toBeLessThan(4_200);
      if (index > 0) expect(text).toContain(`short summary ${index - 1}`);
    }
    expect(summary?.text).toContain(`short summary ${model.requests.length - 1}`);
    const shown = squeeze(transcriptsOf(model).join(""));
    for (const { text } of long.slice(0, covered.length)) expect(shown).toContain(squeeze(text));
  });

  it("one message in steps if it is longer than a step", async () => {
    const model = shortSummariser();
    const start = [humanOf("h", 10_000), ...history];
    await summarizeOnce(start, model);
    expect(model.requests.length).toBeGreaterThan(2);
    expect(squeeze(transcriptsOf(model).join(""))).toContain(squeeze(start[0]?.text ?? "?"));
  });
});

describe("The next summary", () => {
  async function twice(coveredMessages: "keep") {
    const first = await summarizeOnce(history, shortSummariser(), { coveredMessages });
    const more = turnsOf(30, 60).slice(48);
    const model = new FunctionModel(() => "second");
    const start = reduceMessages(first.messages, more).messages;
    return { first, model, second: await summarizeOnce(start, model, { coveredMessages }) };
  }

  it("includes the previous one, and names the messages of both", async () => {
    const { first, model, second } = await twice("keep");
    const [former] = first.messages.filter((message) => coverageOf(message) !== undefined);
    expect(model.requests[0]?.text).toContain("short summary 0");
    expect(model.requests[0]?.text).not.toContain(HEADING);
    expect(second.covered).toContain(former?.id);
    for (const id of first.covered) expect(second.covered).not.toContain(id);
  });

  it("includes late results, with the tool that returned them", async () => {
    const start = [human("hx"), ai("ax", "c"), ...turnsOf(12, 60)];
    const first = await summarizeOnce(start, shortSummariser());
    const late = Object.assign(result("late", "c", "12 degrees"), { name: "tool_c" });
    const model = shortSummariser();
    await summarizeOnce(reduceMessages(first.messages, [late, ...turnsOf(30, 60).slice(48)]).messages, model);
    const [{ text } = { text: "" }] = model.requests;
    expect(text).toContain("12 degrees");
    expect(text).toContain("tool_c");
  });

  it("also reads a long late result in steps", async () => {
    const start = [human("hx"), ai("ax", "c"), ...turnsOf(12, 60)];
    const first = await summarizeOnce(start, shortSummariser());
    const late = result("late", "c", "12 degrees ".repeat(5_000));
    const model = shortSummariser();
    await summarizeOnce(reduceMessages(first.messages, [late, ...turnsOf(30, 60).slice(48)]).messages, model);
    for (const { text } of model.requests) expect(countTextTokens(text)).toBeLessThan(5_000);
  });
});

describe("The wording", () => {
  const chinese = summaryWording("zh", {});

  it("is Chinese if that is chosen", async () => {
    const model = shortSummariser();
    const { summary } = await summarizeOnce(history, model, { summaryWording: chinese });
    expect(summary?.text).toBe("## 对话历史摘要\n\nshort summary 0");
    expect(model.requests[0]?.messages[0]?.text).toMatch(/摘要/);
    expect(model.requests[0]?.text).toContain("此后的对话");
  });

  it("is the custom one if it is set", async () => {
    const model = shortSummariser();
    const own = summaryWording("en", { heading: "# $& so far", instructions: "Be $1 brief." });
    const { summary } = await summarizeOnce(history, model, { summaryWording: own });
    expect(summary?.text).toBe("# $& so far\n\nshort summary 0");
    expect(model.requests[0]?.messages[0]?.text).toBe("Be $1 brief.");
  });
});

it("A batch inside the current turn is covered completely, and the user's request stays", async () => {
  const steps = Array.from({ length: 12 }, (_, step) => stepOf(`x${step}`, 100, "a", "b")).flat();
  const { messages, covered } = await summarizeOnce([humanOf("request"), ...steps], shortSummariser());
  expect(covered).not.toContain("request");
  expect(outline(messages).split(" ")[0]).toBe("request");
  expect(covered.length % 3).toBe(0);
});
