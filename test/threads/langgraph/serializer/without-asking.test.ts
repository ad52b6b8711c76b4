/**
 * `createAgentGraph` reads and writes through `messageSerializer` where a checkpointer has LangGraph's own serializer. That
 * both write the same bytes is a law of its own: `serializer-laws.test.ts`.
 */

import { tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, Command, MemorySaver } from "@langchain/langgraph";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../../src/index.js";
import { SAVERS } from "../../../support/savers.js";
import { calls, scripted } from "../../../support/scripted-model.js";
import { inThread, pairedMessagesOf, user } from "../../../support/thread.js";

const look = tool(async ({ city }) => [`${city}: clear`, { rows: [[1, undefined]] }] as [string, object], {
  name: "look",
  description: "Looks at the sky.",
  responseFormat: "content_and_artifact",
  schema: z.object({ city: z.string() }),
});
const thread = inThread("1");

/** Two turns and an approval. Returns how many messages the thread has then. */
async function live(checkpointer: BaseCheckpointSaver, messagesChannel: "full" | "delta") {
  const script = ["Hello.", calls(["look", { city: "Rome" }, "c1"]), "Clear."];
  const model = scripted(...script);
  const agent = createAgentGraph({
    model,
    tools: [look],
    requireApproval: ["look"],
    checkpointer,
    messagesChannel,
  });
  await agent.invoke(user("Hello"), thread);
  await agent.invoke(user("How is the sky?"), thread);
  await agent.invoke(new Command({ resume: { decisions: [{ type: "approve" }] } }), thread);
  await agent.updateState(thread, { messages: [{ role: "user", content: "More" }] });
  return pairedMessagesOf((await agent.getState(thread)).values).length;
}

afterEach(() => vi.restoreAllMocks());

const DIRECT = [
  { title: "MemorySaver", isThere: true, open: async () => ({ connect: () => new MemorySaver() }) },
  ...SAVERS.filter(({ title }) => /^(Sqlite|Postgres)Saver$/.test(title)),
];

describe.each(DIRECT)("With $title", ({ isThere, open }) => {
  describe.skipIf(!isThere).each(["full", "delta"] as const)("and the %s channel", (channel) => {
    it("no message goes through LangGraph's serializer, and the checkpointer stays as it is", async () => {
      const saver = (await open()).connect();
      const { serde } = saver;
      const written = vi.spyOn(JsonPlusSerializer.prototype, "dumpsTyped");
      const read = vi.spyOn(JsonPlusSerializer.prototype, "loadsTyped");
      expect(await live(saver, channel)).toBe(7);
      const isOfThread = (value: unknown) => JSON.stringify(value)?.includes("How is the sky?");
      expect(written.mock.calls.filter(([value]) => isOfThread(value))).toEqual([]);
      const texts = read.mock.calls.map(([, data]) =>
        typeof data === "string" ? data : new TextDecoder().decode(data),
      );
      expect(texts.filter((text) => text.includes("How is the sky?"))).toEqual([]);
      expect(saver.serde).toBe(serde);
    });
  });
});

describe("A checkpointer keeps its way", () => {
  it("with a serializer of its own", async () => {
    const stock = new JsonPlusSerializer();
    const dumpsTyped = vi.fn((value: unknown) => stock.dumpsTyped(value));
    const own = {
      dumpsTyped,
      loadsTyped: (type: string, data: Uint8Array | string) => stock.loadsTyped(type, data),
    };
    expect(await live(new MemorySaver(own), "full")).toBe(7);
    expect(dumpsTyped.mock.calls.length).toBeGreaterThan(4);
  });

  it("with methods of a stock serializer that were replaced", async () => {
    const stock = new JsonPlusSerializer();
    const written = vi.spyOn(stock, "dumpsTyped");
    expect(await live(new MemorySaver(stock), "full")).toBe(7);
    expect(written.mock.calls.length).toBeGreaterThan(4);
  });

  it("with a serializer that it gets later", async () => {
    const saver = new MemorySaver();
    const agent = createAgentGraph({ model: scripted("One.", "Two."), checkpointer: saver });
    await agent.invoke(user("one"), thread);
    const stock = new JsonPlusSerializer();
    const dumpsTyped = vi.fn((value: unknown) => stock.dumpsTyped(value));
    saver.serde = { dumpsTyped, loadsTyped: (type, data) => stock.loadsTyped(type, data) };
    await agent.invoke(user("two"), thread);
    expect(dumpsTyped.mock.calls.length).toBeGreaterThan(2);
  });

  it("with private fields, which a view cannot read", async () => {
    class PrivateSaver extends MemorySaver {
      #reads = 0;
      override getTuple(...given: Parameters<MemorySaver["getTuple"]>) {
        this.#reads += 1;
        return super.getTuple(...given);
      }
      get reads(): number {
        return this.#reads;
      }
    }
    const saver = new PrivateSaver();
    expect(await live(saver, "full")).toBe(7);
    expect(saver.reads).toBeGreaterThan(0);
  });

  it("with fields that its methods set", async () => {
    class CountingSaver extends MemorySaver {
      writes_ = 0;
      override put(...given: Parameters<MemorySaver["put"]>) {
        this.writes_ += 1;
        return super.put(...given);
      }
    }
    const saver = new CountingSaver();
    await live(saver, "full");
    expect(saver.writes_).toBeGreaterThan(4);
  });
});
