import { AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { concat } from "@langchain/core/utils/stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import { JoinedChunks } from "../../../src/providers/response/join-chunks.js";
import { toJson } from "../../../src/shared/json.js";
import { runs } from "../../support/test-tools.js";

const sometimes = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 3 });
const text = fc.constantFrom("", "a", "bc ", "{}");

const fields = fc.record(
  {
    model_provider: fc.constantFrom("openai", "xai"),
    type: fc.constantFrom("a", "b"),
    finish_reason: fc.constantFrom(null, "", "stop"),
    prompt: fc.constantFrom(0, 1),
    isDone: fc.constant(true),
    usage: fc.constantFrom({}, { total: 1 }),
    nothing: fc.constantFrom(null, undefined),
    list: fc.constantFrom([], ["x"]),
  },
  { requiredKeys: [] },
);

/** Most chunks of a stream are alike, and only add text. */
const chunk = fc
  .record({
    content: fc.oneof(
      { weight: 8, arbitrary: text },
      { weight: 1, arbitrary: text.map((words) => [{ type: "text", text: words, index: 0 }]) },
    ),
    id: sometimes(fc.constantFrom("1", "2")),
    additional_kwargs: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, fields),
    response_metadata: fc.oneof({ weight: 3, arbitrary: fc.constant({ model_provider: "openai" }) }, fields),
    tool_call_chunks: fc.oneof(
      { weight: 5, arbitrary: fc.constant([]) },
      fc
        .record({ index: fc.nat(1), args: text })
        .map((call) => [{ ...call, type: "tool_call_chunk" as const }]),
    ),
    usage_metadata: sometimes(fc.constant({ input_tokens: 1, output_tokens: 2, total_tokens: 3 })),
  })
  .map((given) => new AIMessageChunk(given as never));

const said = (message: AIMessageChunk | undefined) =>
  message && {
    text: message.text,
    json: JSON.parse(toJson(message) ?? ""),
    fields: { ...message, lc_kwargs: undefined },
  };

it("Joined chunks are the message that LangChain joins one by one.", () => {
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 12 }), (messages) => {
      const joined = new JoinedChunks();
      for (const message of messages)
        joined.add(new ChatGenerationChunk({ text: message.text, message }), message);
      const [first, ...others] = messages;
      let wanted: unknown;
      try {
        wanted = said(others.reduce((whole, next) => concat(whole, next), first));
      } catch (error) {
        expect(() => joined.message).toThrow(String(Reflect.get(Object(error), "message")));
        return;
      }
      expect(said(joined.message)).toEqual(wanted);
    }),
    runs(300),
  );
});

it("Chunks that only add text are not kept.", () => {
  const joined = new JoinedChunks();
  for (let count = 0; count < 1_000; count += 1) {
    const message = new AIMessageChunk({
      content: "a ",
      response_metadata: { model_provider: "openai", usage: {} },
    });
    joined.add(new ChatGenerationChunk({ text: "a ", message }), message);
  }
  expect(joined.chunks).toHaveLength(1);
  expect(joined.message?.text).toBe("a ".repeat(1_000));
});
