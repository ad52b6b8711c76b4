import { ToolMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { finalizeCall } from "../../../src/agent/tools.js";
import { endsRun } from "../../../src/history/result.js";

const task = {
  call: { kind: "valid", id: "c1", name: "sky" },
  index: 0,
  place: "m1:0",
  args: {},
  parseError: undefined,
} as const;
const finalized = finalizeCall(task, { kind: "returned", value: "clear" }, false);

/** The result that the call writes where a middleware gives this one. */
function written(given: ToolMessage, options?: { readonly endsRun: boolean }): ToolMessage {
  const update = finalized.updateWith(given, options);
  const [message] = "messages" in update ? [update.messages].flat() : [];
  if (!(message instanceof ToolMessage)) throw new Error("Expected a result.");
  return message;
}

it("A given result answers this call, whichever call it names, under an id of its own.", () => {
  const given = new ToolMessage({ id: "taken", tool_call_id: "another", name: "sky", content: "clear" });
  expect(written(given).tool_call_id).toBe("c1");
  expect(written(given).id).toBe(finalized.result.id);
});

it("What is written later into a given result does not reach the thread.", () => {
  const given = new ToolMessage({ tool_call_id: "c1", content: [{ type: "text", text: "clear" }] });
  const message = written(given);
  Object.assign(given.content[0] ?? {}, { text: "changed" });
  expect(message.text).toBe("clear");
});

it.each([
  ["ends the run where it is to", { endsRun: true }, true],
  ["does not end the run where it is not to", { endsRun: false }, false],
  ["does not end the run by default", undefined, false],
] as const)("A result %s.", (_, options, expected) => {
  expect(endsRun(written(finalized.result, options))).toBe(expected);
});
