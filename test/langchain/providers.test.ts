/** Agents of LangChain with the middleware, through the real clients, and providers that refuse an invalid history. */

import { MemorySaver } from "@langchain/langgraph";
import { createAgent, modelFallbackMiddleware } from "langchain";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tetherMiddleware } from "../../src/langchain.js";
import { answerTo, chainWish, createLook, playChain } from "../support/chain-script.js";
import { clientOf, PROVIDERS } from "../support/clients.js";
import { buildForeign, foreignHistories } from "../support/dialect-arbitraries.js";
import { openAgent } from "../support/open-thread.js";
import {
  ANSWER,
  type ProviderName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { expectWarnings, law, OLD_PACKAGES } from "../support/test-tools.js";
import { user } from "../support/thread.js";

expectWarnings(/^(?:Unknown message role|Unsupported role found .*): critic$/, OLD_PACKAGES);

let strict: StrictProvider;
let chain: StrictProvider;
beforeAll(async () => {
  [strict, chain] = await Promise.all([
    startStrictProvider(),
    startStrictProvider(({ messages }) => playChain(messages)),
  ]);
});
afterAll(() => Promise.all([strict.stop(), chain.stop()]));

describe.each(PROVIDERS)("%s", (provider) => {
  law(
    "never refuses the request of an agent, whatever its history is",
    20,
    [foreignHistories()],
    async (foreign) => {
      const model = await clientOf(provider, strict);
      const agent = createAgent({ model, middleware: [tetherMiddleware()], systemPrompt: "Be brief." });
      const { messages } = await agent.invoke({ messages: buildForeign(foreign) });
      expect(messages.at(-1)?.text).toBe(ANSWER);
    },
  );
});

const PAIRS = [
  ["openai", "anthropic"],
  ["anthropic", "openai"],
  ["gemini", "mistral"],
  ["mistral", "deepseek"],
  ["openai-responses", "gemini"],
] as const satisfies readonly (readonly [ProviderName, ProviderName])[];

describe.each(PAIRS)("%s, then %s", (from, to) => {
  it("a thread goes on with a model of another provider", async () => {
    const { look, looked } = createLook();
    const checkpointer = new MemorySaver();
    const open = async (others: object[], provider: ProviderName, server: StrictProvider) => {
      const middleware = [...others, tetherMiddleware()];
      return openAgent({ model: await clientOf(provider, server), tools: [look], checkpointer, middleware });
    };
    const first = await open([], from, chain);
    await first.send(chainWish([["Oslo", "Rome"], ["Bern"]]));
    // The first model fails now, so the second one is asked, with the history of the first.
    const gone = await startStrictProvider();
    await gone.stop();
    const second = await open([modelFallbackMiddleware(await clientOf(to, chain))], from, gone);
    const { error } = await second.run(user(chainWish([["Lima", "Quito"]])));
    expect(error).toBeUndefined();
    expect((await second.read()).at(-1)?.text).toBe(answerTo([["Lima", "Quito"]] as never));
    expect([...looked].sort()).toEqual(["Bern", "Lima", "Oslo", "Quito", "Rome"]);
  });
});
