import { describe, expect, it } from "vitest";
import { type RunPart, RunPrinter } from "../../scripts/terminal/run-printer.js";
import { rowsOf } from "../support/test-tools.js";

/** What is written of a run. */
function printed(parts: readonly RunPart[], tellsUsage = false): string {
  let output = "";
  const write = (text: string) => {
    output += text;
  };
  const printer = new RunPrinter({ write, style: (_format, text) => text, tellsUsage });
  for (const part of parts) printer.print(part);
  printer.endRun();
  // The second end of a run says nothing.
  printer.endRun();
  return output;
}

const streamed = (message: object, task = "model:1"): RunPart => ({
  event: "messages",
  data: [message, { langgraph_checkpoint_ns: task }],
});
const returned = (message: object, node = "model"): RunPart => ({
  event: "updates",
  data: { [node]: { messages: [message] } },
});
const ai = (id: string, content: string) => ({ type: "ai", id, content });
const tool = (fields: object) => ({
  type: "tool",
  tool_call_id: "c1",
  name: "look",
  content: "seen",
  ...fields,
});

const custom = (data: object): RunPart => ({ event: "custom", data });
const HELLO_YOU = [streamed(ai("a", "Hello ")), streamed(ai("a", "you"))];
const REMOVED = { type: "remove", id: "a" };
const RUN_END = { type: "run-end", calls: 0, results: 0, usedFallback: false };

describe("RunPrinter", () => {
  it.each(
    rowsOf<[parts: RunPart[], output: string]>({
      "a streamed text once, though the node returns it too": [
        [...HELLO_YOU, returned(ai("a", "Hello you"))],
        "Hello you\n",
      ],
      "a text that was not streamed": [
        [streamed(ai("a", "Hello you")), returned(ai("a", "Hello you"))],
        "Hello you\n",
      ],
      "a text that only the update has": [[returned(ai("a", "Hello"))], "Hello\n"],
      "a text once that the node returns under another id": [
        [...HELLO_YOU, streamed(ai("b", "Hello you")), returned(ai("b", "Hello you"))],
        "Hello you\n",
      ],
      "the same text twice if two tasks write it": [
        [streamed(ai("a", "Yes")), returned(ai("a", "Yes")), streamed(ai("b", "Yes"), "model:2")],
        "Yes\nYes\n",
      ],
      "the rest of a text that the node completed": [
        [streamed(ai("a", "Hello ")), returned(ai("a", "Hello you"))],
        "Hello you\n",
      ],
      "another text that the node returned instead of the streamed one": [
        [streamed(ai("a", "Hello ")), returned(ai("a", "Stopped."))],
        "Hello \nStopped.\n",
      ],
      "a retracted text, and the new one": [
        [streamed(ai("a", "Hel")), streamed(REMOVED), streamed(ai("b", "Hello")), returned(ai("b", "Hello"))],
        "Hel\n  (the text so far was retracted)\nHello\n",
      ],
      "the same text again, if it was retracted and returned with tool calls": [
        [
          streamed(ai("a", "Hello")),
          streamed(REMOVED),
          streamed(ai("b", "Hello")),
          returned(ai("b", "Hello")),
        ],
        "Hello\n  (the text so far was retracted)\nHello\n",
      ],
      "why a response is requested again, and nothing about the end of a run": [
        [custom({ type: "answer-broken", reason: "empty" }), custom(RUN_END)],
        "  · the model's response is empty: it has neither text nor a tool call. It is requested again without streaming\n",
      ],
      "tool calls with their arguments, and invalid arguments unchanged": [
        [
          returned({
            ...ai("a", "Let me see."),
            tool_calls: [{ id: "c1", name: "look", args: { at: "tea", times: 2 } }],
            invalid_tool_calls: [{ id: "c2", name: "look", args: '{"at": ' }],
          }),
        ],
        'Let me see.\n  → look(at: "tea", times: 2)\n  → look({"at": )\n',
      ],
      "a result once, even if a later run recovers it": [
        [streamed(tool({ id: "r1" })), streamed(tool({ id: "r1" }), "patch:1")],
        "  ← look: seen\n",
      ],
      "the error of a tool": [
        [streamed(tool({ status: "error", content: "Error: dark" }))],
        "  ✗ look: Error: dark\n",
      ],
      "the description of an event, without the placeholder": [
        [
          custom({ type: "call-closed", tool: "look", callId: "c1", cause: "superseded" }),
          streamed(tool({ status: "error", additional_kwargs: { tether_placeholder: "superseded" } })),
        ],
        "  · look: closed without a result, because a new message came before it finished\n",
      ],
      "the parts of a subgraph, and the updates of parallel tasks": [
        [
          { ...streamed(ai("a", "Hi")), event: "messages|sub:1" },
          { event: "updates", data: { model: [{ messages: ai("a", "Hi") }, null], other: null } },
        ],
        "Hi\n",
      ],
    }),
  )("prints %s", (_title, parts, output) => {
    expect(printed(parts)).toBe(output);
  });

  it.each([
    [true, "Hello\n  30 tokens: 20 in, 10 out\n"],
    [false, "Hello\n"],
  ])("tells the tokens at the end of a run, after the answer, if it should: %j", (tellsUsage, output) => {
    const usage = { input_tokens: 20, output_tokens: 10, total_tokens: 30 };
    expect(printed([custom({ ...RUN_END, usage }), returned(ai("a", "Hello"))], tellsUsage)).toBe(output);
  });

  it("gives the error of a run to its caller", () => {
    const printer = new RunPrinter({ write: () => {}, style: (_format, text) => text });
    expect(printer.print({ event: "error", data: { error: "Error", message: "interrupt" } })).toBe(
      "interrupt",
    );
    expect(printer.print({ event: "metadata", data: { run_id: "1" } })).toBeUndefined();
  });
});
