/** The marks of Anthropic's prompt cache, over HTTP through LangChain's client. */

import { ChatAnthropic } from "@langchain/anthropic";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import {
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { inThread, user } from "../support/thread.js";

const MARK = { cache_control: { type: "ephemeral" } };

let provider: StrictProvider;
beforeAll(async () => {
  provider = await startStrictProvider(() => ({ text: "Done." }));
});
afterAll(() => provider.stop());

const look = (name: string) =>
  tool(() => "Seen.", { name, description: "Looks.", schema: z.object({ place: z.string() }) });

const anthropic = () =>
  new ChatAnthropic({
    model: "claude-sonnet-4-5",
    apiKey: "test",
    anthropicApiUrl: provider.url("anthropic"),
    maxRetries: 0,
  });

async function ask(options: Partial<Parameters<typeof createAgentGraph>[0]>): Promise<unknown> {
  const graph = createAgentGraph({
    model: anthropic(),
    tools: [look("first"), look("last")],
    systemPrompt: "Be brief.",
    checkpointer: new MemorySaver(),
    ...options,
  });
  await graph.invoke(user("Hello"), inThread("prompt-cache"));
  return provider.lastRequest();
}

describe("promptCache: auto", () => {
  it("marks the last tool, the system prompt and the last message", async () => {
    expect(await ask({ promptCache: "auto" })).toMatchObject({
      ...MARK,
      system: [{ type: "text", text: "Be brief.", ...MARK }],
      tools: [expect.not.objectContaining(MARK), expect.objectContaining({ name: "last", ...MARK })],
    });
  });

  it("changes nothing else of the request", async () => {
    const marked = JSON.stringify(await ask({ promptCache: "auto" }));
    const plain = JSON.stringify(await ask({ promptCache: "off" }));
    const system = JSON.stringify([{ type: "text", text: "Be brief." }]);
    const unmarked = marked.replaceAll(/,"cache_control":\{"type":"ephemeral"\}/g, "");
    expect(unmarked.replace(system, '"Be brief."')).toBe(plain);
  });

  it("marks nothing for another provider", async () => {
    const model = new ChatOpenAI({
      model: "gpt-4.1-mini",
      apiKey: "test",
      maxRetries: 0,
      configuration: { baseURL: `${provider.url("openai")}/v1` },
    });
    expect(JSON.stringify(await ask({ model, promptCache: "auto" }))).not.toContain("cache_control");
  });
});

it("marks nothing by default", async () => {
  expect(JSON.stringify(await ask({}))).not.toContain("cache_control");
});
