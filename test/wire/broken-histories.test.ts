/**
 * Broken histories from public reports. Each is refused as it is, in the words that the report quotes, and accepted as
 * the model input of its dialect.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { validateHistory } from "../../src/providers/validate-history.js";
import { REFUSED_HISTORIES } from "../support/refused-histories.js";
import {
  ANSWER,
  type ProviderName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { titled } from "../support/titled.js";
import { clientOf } from "./clients.js";

let strict: StrictProvider;
beforeAll(async () => {
  strict = await startStrictProvider();
});
afterAll(() => strict.stop());

describe.each(
  titled(
    REFUSED_HISTORIES.map((one) => ({ ...one, title: `${one.provider}: ${one.title} (${one.report})` })),
  ),
)("%s", (_title, { provider, history, refusal, clientSays = refusal, validatorSays = refusal }) => {
  it("is refused as it is, in the words of the report", async () => {
    const before = strict.requests.length;
    await expect(streamed(provider, history)).rejects.toThrow(clientSays);
    const [request, ...others] = strict.requests.slice(before);
    expect(others).toEqual([]);
    expect(strict.statuses.at(-1)).toBe(400);
    expect(wordsOf(request?.refusal)).toContain(refusal);
  });

  it("is found by `validateHistory`, without a request", () => {
    expect(
      validateHistory(history, provider)
        .map(({ message }) => message)
        .join("\n"),
    ).toContain(validatorSays);
  });

  it("is accepted as a model input, and loses no text", async () => {
    const input = toModelInput(history, { dialect: provider });
    expect(validateHistory(input, provider)).toEqual([]);
    expect(await streamed(provider, input)).toBe(ANSWER);
    const texts = input.map(({ text }) => text).join("\n");
    for (const { text } of history.filter(({ type }) => type === "human")) expect(texts).toContain(text);
  });
});

/** The message of a provider's refusal, wherever it has it. */
function wordsOf(refusal: object = {}): unknown {
  return Reflect.get(Object(Reflect.get(refusal, "error") ?? refusal), "message");
}

async function streamed(provider: ProviderName, messages: BaseMessage[]): Promise<string> {
  const client = await clientOf(provider, strict);
  let text = "";
  for await (const chunk of await client.stream(messages)) text += chunk.text;
  return text;
}
