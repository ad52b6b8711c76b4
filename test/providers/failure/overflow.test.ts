import { ContextOverflowError } from "@langchain/core/errors";
import { describe, expect, it } from "vitest";
import { ModelError } from "../../../src/index.js";
import { lowerBound, MOST_OVERFLOWS, readOverflow } from "../../../src/providers/failure/overflow.js";
import { type OverflowFamily, overflowError } from "../../support/overflow-refusals.js";
import { rowsOf } from "../../support/test-tools.js";

const KNOWN = { limit: 8_000, sent: 9_000 };
const UNKNOWN = { limit: undefined, sent: undefined };

const refusal = (status: number | undefined, message: string, fields: object = {}) =>
  Object.assign(new Error(message), { status, ...fields });

describe("A refusal of a request that is too long is recognised", () => {
  const NUMBERS: Readonly<Record<OverflowFamily, object>> = {
    openai: KNOWN,
    "openai-responses": UNKNOWN,
    anthropic: KNOWN,
    gemini: KNOWN,
    dashscope: { limit: 8_000, sent: undefined },
    deepseek: KNOWN,
    mistral: KNOWN,
    vllm: KNOWN,
    groq: UNKNOWN,
    "llama.cpp": KNOWN,
    proxy: UNKNOWN,
  };
  it.each(Object.entries(NUMBERS))(
    "in the words of %s, with its numbers for the input, without the reserved output",
    (family, numbers) => {
      expect(readOverflow(overflowError(family as OverflowFamily, 9_000, 8_000))).toMatchObject(numbers);
    },
  );

  it.each(
    rowsOf<[message: string, numbers: object]>({
      "OpenAI, in its older words": [
        "This model's maximum context length is 4097 tokens, however you requested 4226 tokens (3970 in your prompt; 256 for the completion). Please reduce your prompt; or completion length.",
        { limit: 3_841, sent: 3_970 },
      ],
      // https://github.com/cline/cline/issues/5474
      "OpenAI, with a limit of its own": [
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 477469 tokens. Please reduce the length of the messages.",
        { limit: 272_000, sent: 477_469 },
      ],
      "Mistral, without draft tokens": [
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        { limit: 32_768, sent: 40_000 },
      ],
      "OpenAI, for one message": [
        "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1056035 instead.",
        UNKNOWN,
      ],
      OpenRouter: [
        "This endpoint's maximum context length is 163840 tokens. However, you requested about 243013 tokens (238917 of text input, 4096 in the output).",
        { limit: 159_744, sent: 238_917 },
      ],
      "Anthropic, with the reserved output": [
        "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
        { limit: 136_000, sent: 178_959 },
      ],
      "vLLM, with the reserved output": [
        "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 2104 input tokens (2000 > 4096 - 2104).",
        { limit: 2_096, sent: 2_104 },
      ],
      "Vertex AI": [
        "Unable to submit request because the input token count is 32825 but model only supports up to 32768. Reduce the input token count and try again.",
        { limit: 32_768, sent: 32_825 },
      ],
      xAI: [
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        { limit: 131_072, sent: 537_812 },
      ],
      Bedrock: ["Input is too long for requested model.", UNKNOWN],
      Kimi: [
        "Your request exceeded model token limit: 262144 (requested: 300000)",
        { limit: 262_144, sent: 300_000 },
      ],
      Ollama: ["prompt too long; exceeded max context length by 4096 tokens", UNKNOWN],
      oMLX: [
        "Prompt too long: 41911 tokens exceeds max context window of 32768 tokens",
        { limit: 32_768, sent: 41_911 },
      ],
      "LM Studio": [
        "The number of tokens to keep from the initial prompt is greater than the context length.",
        UNKNOWN,
      ],
    }),
  )("from %s", (_title, message, numbers) => {
    expect(readOverflow(refusal(400, message))).toMatchObject(numbers);
  });

  it("by LangChain's error class, and by the code", () => {
    expect(readOverflow(new ContextOverflowError())).toMatchObject(UNKNOWN);
    expect(readOverflow({ name: "ContextOverflowError", message: "" })).toMatchObject(UNKNOWN);
    expect(readOverflow(refusal(400, "no", { code: "context_length_exceeded" }))).toMatchObject(UNKNOWN);
  });

  it("in the cause of our own error", () => {
    const cause = overflowError("anthropic", 9_000, 8_000);
    expect(readOverflow(new ModelError("The provider refused", { cause }))).toMatchObject(KNOWN);
  });
});

describe("No overflow is", () => {
  it.each(
    Object.entries({
      "a rate limit on tokens": refusal(
        429,
        "Request too large for gpt-4o in organization on tokens per min (TPM): Limit 30000, Requested 40000.",
      ),
      "Groq's rate limit on tokens, with status 413": refusal(
        413,
        "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 8000",
      ),
      "a limit of the output": refusal(
        400,
        "max_tokens is too large: 200000. This model supports at most 16384 completion tokens.",
      ),
      "a reserved output that alone fills the window": refusal(
        400,
        "input length and `max_tokens` exceed context limit: 10 + 64000 > 60000, decrease input length",
      ),
      "an id that is too long": refusal(
        400,
        "Invalid 'messages[11].tool_calls[0].id': string too long. Expected a string with maximum length 40",
      ),
      "a wrong key": refusal(401, "Incorrect API key provided."),
      "an error without a text": {},
      "no error at all": undefined,
      "a text": "prompt is too long",
    }),
  )("%s", (_title, error) => {
    expect(readOverflow(error)).toBeUndefined();
  });
});

describe("The bound after a refusal", () => {
  const attempts = Array.from({ length: MOST_OVERFLOWS }, (_, attempt) => attempt);

  it("follows the provider's numbers, with more to spare each time", () => {
    const bounds = attempts.map((attempt) => lowerBound({ limit: 8_000, sent: 16_000 }, 10_000, attempt));
    expect(bounds).toEqual([4_750, 4_000, 2_500]);
  });

  it("is at most the limit where the provider names only that", () => {
    const overflow = { limit: 8_000, sent: undefined };
    expect(lowerBound(overflow, 1_000_000, 0)).toBe(7_600);
    expect(lowerBound(overflow, 5_000, 0)).toBe(3_500);
  });

  it("ends at what every model takes where the provider names no numbers", () => {
    let estimate = 1_250_000;
    for (const attempt of attempts) estimate = lowerBound(UNKNOWN, estimate, attempt);
    expect(estimate).toBe(4_000);
  });
});
