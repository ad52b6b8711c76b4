/**
 * Refusals that quote the user, through the real clients: what a user writes is not what the provider says. And the
 * provider's own words, in all forms in which hosts and gateways pass them on.
 */

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createAgentGraph } from "../../src/index.js";
import { clientOf } from "../support/clients.js";
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
  it.each(forms)("the provider's own words count: %s", async (_, say) => {
    for (const [family, { message }] of Object.entries(OVERFLOW_REFUSALS)) {
      const words = message(3_000, 2_500);
      // A user who has read the same words elsewhere changes nothing.
      for (const text of ["Go on.", `It said: ${message(3_100, 2_400)}`]) {
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
