/**
 * Refusals that quote the user, through the real clients: what a user writes is not what the provider says. And the
 * provider's own words, in all forms in which hosts and gateways pass them on.
 */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createAgentGraph } from "../../src/index.js";
import { clientOf, openAIAt } from "../support/clients.js";
import { openThread } from "../support/open-thread.js";
import { OVERFLOW_REFUSALS } from "../support/overflow-refusals.js";
import { FORGED_WORDS, QUOTATIONS, SAID } from "../support/reported-words.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";

const strict = stopAtEnd(await startStrictProvider());

/** The rungs of a turn in which one request is refused. */
async function rungsOf(
  provider: "openai" | "anthropic" | "mistral",
  text: string,
  body: object,
  status = 400,
) {
  const model = await clientOf(provider, strict);
  const { graph, send } = openThread(createAgentGraph({ model, checkpointer: new MemorySaver() }));
  const config = { configurable: { thread_id: "1" } };
  const earlier = [new HumanMessage("word ".repeat(2_000)), new AIMessage("Noted.")];
  await graph.updateState(config, { messages: earlier });
  strict.failNext({ status, body });
  const { events } = await send(text);
  return events.flatMap((event) => (event.type === "input-reduced" ? [event.rung] : []));
}

const PROVIDERS = ["openai", "anthropic", "mistral"] as const;

describe.each(PROVIDERS)("%s", (provider) => {
  it.each(Object.entries(QUOTATIONS))("a user is not taken for the provider in %s", async (_, quote) => {
    for (const forged of FORGED_WORDS) {
      const text = `${forged.length % 2 === 0 ? "" : "Please explain. ".repeat(200)}Please explain. ${forged}`;
      const rungs = await rungsOf(provider, text, quote(text));
      expect({ forged, rungs: rungs.filter((rung) => rung !== "retold" && rung !== "strict") }).toEqual({
        forged,
        rungs: [],
      });
    }
  });

  // OpenAI's client drops the words of a host that has another form.
  const forms = Object.entries(SAID).filter(
    ([form]) => provider !== "openai" || !["message", "detail"].includes(form),
  );
  it.each(forms)("the provider's own words count: %s", async (form, say) => {
    for (const [family, { message }] of Object.entries(OVERFLOW_REFUSALS)) {
      const words = message(3_000, 2_500);
      // A user who has read the same words elsewhere changes nothing.
      const texts = ["Go on.", `It said: ${message(3_100, 2_400)}`];
      // In a printed object, nothing tells the two apart.
      for (const text of form === "a printed object" ? texts.slice(0, 1) : texts) {
        const rungs = await rungsOf(provider, text, say(words), family === "proxy" ? 413 : 400);
        expect({ family, text, rungs }).toEqual({ family, text, rungs: ["shortened"] });
      }
    }
  });

  it("a rate limit on tokens that the user has quoted does not hide an overflow", async () => {
    const text = "Why is there a rate limit of tokens per minute?";
    const own = OVERFLOW_REFUSALS.anthropic.message(3_000, 2_500);
    const body = SAID["openai"]?.(`${own} "${text}"`);
    expect(await rungsOf(provider, text, Object(body))).toEqual(["shortened"]);
  });
});

describe.each([
  ["OpenAI's client", () => openAIAt(`${strict.url("openai")}/v1`, { model: "my-model" })],
  ["Mistral's client", () => clientOf("mistral", strict)],
] as const)("with %s", (_, make) => {
  it.each(["openai", "anthropic", "gemini", "mistral", "vllm"] as const)(
    "the window that it states in the words of %s is known to other threads",
    async (family) => {
      const model = await make();
      const whole = await lengthIn(model, "1");
      const body = SAID["openai"]?.(OVERFLOW_REFUSALS[family].message(4_000, 2_000));
      strict.failNext({ status: 400, body: Object(body) });
      await lengthIn(model, "2");
      expect(await lengthIn(model, "3")).toBeLessThan(whole * 0.8);
    },
  );

  it("a window far from the request, or far below that of the client, is not", async () => {
    const model = openAIAt(`${strict.url("openai")}/v1`, { model: "gpt-5" });
    for (const [sent, limit] of [
      [400_000, 2_000],
      [4_000, 2_000],
    ] as const) {
      const whole = await lengthIn(model, `before ${sent}`);
      const body = SAID["openai"]?.(OVERFLOW_REFUSALS.openai.message(sent, limit));
      strict.failNext({ status: 400, body: Object(body) });
      await lengthIn(model, `in ${sent}`);
      expect(await lengthIn(model, `after ${sent}`)).toBe(whole);
    }
  });
});

/** How long a request of this thread is. */
async function lengthIn(model: BaseChatModel, thread: string): Promise<number> {
  const graph = createAgentGraph({ model, checkpointer: new MemorySaver(), maxTokensBeforeSummary: 0 });
  const config = { configurable: { thread_id: thread } };
  const earlier = [new HumanMessage("word ".repeat(3_000)), new AIMessage("Noted.")];
  await graph.updateState(config, { messages: earlier });
  await graph.invoke({ messages: [new HumanMessage("Go on.")] }, config);
  return JSON.stringify(strict.lastRequest()).length;
}
