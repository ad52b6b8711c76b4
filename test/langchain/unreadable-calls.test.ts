/** Responses whose only calls have arguments that are not the JSON of an object. */

import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { lines } from "../support/lines.js";
import { calls } from "../support/models.js";
import { MANNERS, openAgent } from "../support/open-thread.js";
import { scripted } from "../support/scripted-model.js";
import { script, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

const chunk = (id: string, args: string, index = 0) => ({
  ...({ type: "tool_call_chunk", name: "fast" } as const),
  ...{ index, id, args },
});
const chunks = (...parts: ReturnType<typeof chunk>[]) => [
  new AIMessageChunk({ content: "", tool_call_chunks: parts }),
];
const broken = (id: string) => chunks(chunk(id, '{"label": oops'));

const REFUSED = "tool! Error: the arguments of `fast` were refused, so it was not run: Malformed args.";

describe.each(MANNERS)("A client that has %s the model", (manner) => {
  it("reads that a call was not run, and what the model then calls", async () => {
    const probe = createProbe();
    const model = scripted(broken("b1"), calls(["fast", {}, "f"]), "Done.");
    const thread = openAgent({ model, tools: [probe.fast] });
    const { error, messages } = await thread.run(user("Go."), { manner });
    expect(error).toBeUndefined();
    const read = script(await thread.read());
    expect(read).toEqual([
      ...lines("human: Go. | ai> fast"),
      REFUSED,
      ...lines("ai> fast | tool: fast done - | ai: Done."),
    ]);
    // A result can be streamed after the response that follows it. The values have it in its place.
    const shown = script(messages).filter((line) => !line.startsWith("human"));
    expect(shown.toSorted()).toEqual(read.slice(1).toSorted());
    expect(probe.runs).toEqual(["fast:-"]);
    expect(script(model.requests[1]?.messages ?? []).at(-1)).toMatch(/^tool! Error: the arguments of `fast`/);
  });
});

it.each(['["a"]', "3", '"x"'])("The arguments %s are refused, and the model is told why", async (args) => {
  const model = scripted(
    new AIMessage({
      content: "",
      tool_calls: [{ type: "tool_call", id: "c", name: "fast", args: JSON.parse(args) }],
    }),
    "Sorry.",
  );
  const { fast } = createProbe();
  const thread = openAgent({ model, tools: [fast] });
  const read = script(await thread.send("Go."));
  expect(read.at(-1)).toBe("ai: Sorry.");
});

it("Calls that can be read are run, and the others of their response are answered", async () => {
  const both = chunks(chunk("c", "{}"), chunk("b", '{"label": oops', 1));
  const thread = openAgent({ model: scripted(both, "Done."), tools: [createProbe().fast] });
  expect(script(await thread.send("Go."))).toEqual([
    ...lines("human: Go. | ai> fast fast | tool: fast done -"),
    "tool! Tool call fast (b): its arguments were not valid JSON, so it was not run.",
    "ai: Done.",
  ]);
});

it("After three such responses in a row, the model is asked without tools", async () => {
  const model = scripted(broken("1"), broken("2"), broken("3"), "I give up.", "Hello.");
  const thread = openAgent({ model, tools: [createProbe().fast] });
  const { error, events } = await thread.run(user("Go."));
  expect(error).toBeUndefined();
  expect(events).toEqual([{ type: "limit-reached", limit: "max-consecutive-errors" }]);
  expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([
    undefined,
    undefined,
    undefined,
    "none",
  ]);
  const whole = [
    ...["human: Go.", "ai> fast", REFUSED, "ai> fast", REFUSED, "ai> fast", REFUSED],
    "ai: I give up.",
  ];
  expect(script(await thread.read())).toEqual(whole);
  expect(script(await thread.send("Hi!"))).toEqual([...whole, "human: Hi!", "ai: Hello."]);
});

it("A response that repeats the id of an unreadable one keeps its own place", async () => {
  const same = ([part]: readonly AIMessageChunk[]) => [Object.assign(part as AIMessageChunk, { id: "same" })];
  const model = scripted(same(broken("b")), same([new AIMessageChunk("Done.")]));
  const thread = openAgent({ model, tools: [createProbe().fast] });
  expect(script(await thread.send("Go."))).toEqual([...lines("human: Go. | ai> fast"), REFUSED, "ai: Done."]);
});
