import { describe, expect, it } from "vitest";
import { type RunPart, RunPrinter } from "../../scripts/demo/run-printer.js";
import { rowsOf } from "../support/test-tools.js";

/** What is written of a run. */
function printed(parts: readonly RunPart[]): string {
  const lines: string[] = [];
  const line = (text = "") => void lines.push(text);
  const printer = new RunPrinter({ line, style: (_format, text) => text });
  for (const part of parts) printer.print(part);
  return lines.join("\n");
}

const streamed = (message: object): RunPart => ({ event: "messages", data: [message, {}] });
const returned = (message: object): RunPart => ({
  event: "updates",
  data: { model: { messages: [message] } },
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

describe("RunPrinter", () => {
  it.each(
    rowsOf<[parts: RunPart[], output: string]>({
      "a text when it is complete": [
        [streamed(ai("a", "Hello ")), streamed(ai("a", "you")), returned(ai("a", "Hello you"))],
        "Hello you",
      ],
      "tool calls with their arguments, and invalid arguments unchanged": [
        [
          returned({
            ...ai("a", "Let me see."),
            tool_calls: [{ id: "c1", name: "look", args: { at: "tea", times: 2 } }],
            invalid_tool_calls: [{ id: "c2", name: "look", args: '{"at": ' }],
          }),
        ],
        'Let me see.\n  → look(at: "tea", times: 2)\n  → look({"at": )',
      ],
      "a result once, even if a later run recovers it": [
        [streamed(tool({ id: "r1" })), streamed(tool({ id: "r1" }))],
        "  ← look: seen",
      ],
      "the error of a tool": [
        [streamed(tool({ status: "error", content: "Error: dark" }))],
        "  ✗ look: Error: dark",
      ],
      "the description of an event, without the placeholder and the end of the run": [
        [
          custom({ type: "call-closed", tool: "look", callId: "c1", cause: "superseded" }),
          streamed(tool({ status: "error", additional_kwargs: { tether_placeholder: "superseded" } })),
          custom({ type: "run-end", calls: 0, results: 0, usedFallback: false }),
        ],
        "  · look: closed without a result, because a new message came before it finished",
      ],
      "an event that no scene expects as it is": [
        [custom({ type: "response-broken", reason: "empty" })],
        '  · {"type":"response-broken","reason":"empty"}',
      ],
    }),
  )("prints %s", (_title, parts, output) => {
    expect(printed(parts)).toBe(output);
  });

  it("gives the error of a run to its caller", () => {
    const printer = new RunPrinter({ line: () => {}, style: (_format, text) => text });
    expect(printer.print({ event: "error", data: { error: "Error", message: "interrupt" } })).toBe(
      "interrupt",
    );
    expect(printer.print({ event: "metadata", data: { run_id: "1" } })).toBeUndefined();
  });
});
