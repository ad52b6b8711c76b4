/** Threads over savers that use the serializer, LangGraph's own, or both in turn. */

import { tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, Command, MemorySaver, StateSchema } from "@langchain/langgraph";
import { InMemoryCache, JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { createAgent } from "langchain";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { createAgentGraph, messageSerializer, PairedMessagesDeltaValue } from "../../../../src/index.js";
import { DURABILITIES } from "../../../support/crashing-thread.js";
import { calls } from "../../../support/models.js";
import { SAVERS, type SaverKind } from "../../../support/savers.js";
import { scripted } from "../../../support/scripted-model.js";
import { inThread, pairedMessagesOf, pairedScript, user } from "../../../support/thread.js";
import { checkedSerializer, countedSerializer } from "../../../support/two-serializers.js";

const look = tool(async ({ city }) => [`${city}: clear`, { rows: [[1, undefined]] }] as [string, object], {
  name: "look",
  description: "Looks at the sky.",
  responseFormat: "content_and_artifact",
  schema: z.object({ city: z.string() }),
});
const rome = calls(["look", { city: "Rome" }, "c1"]);
const thread = inThread("1");

async function open({ open }: SaverKind) {
  const { connect } = await open();
  return (serde: BaseCheckpointSaver["serde"]) => Object.assign(connect(), { serde });
}

describe.each(SAVERS)("With $title", (kind) => {
  describe.skipIf(!kind.isThere)("a thread", () => {
    it("has the same bytes at every write and read, through tools and an approval", async () => {
      const connect = await open(kind);
      const serde = await checkedSerializer();
      const agent = createAgentGraph({
        model: scripted(rome, "Clear.", calls(["ask", {}, "c2"]), "Asked."),
        tools: [look, tool(async () => "yes", { name: "ask", description: "Asks.", schema: z.object({}) })],
        requireApproval: ["ask"],
        checkpointer: connect(serde),
      });
      await agent.invoke(user("How is the sky?"), thread);
      await agent.invoke(user("Ask"), thread);
      await agent.invoke(new Command({ resume: { decisions: [{ type: "approve" }] } }), thread);
      const { values } = await agent.getState(thread);
      expect(pairedScript(values).slice(-2)).toEqual(["tool: yes", "ai: Asked."]);
      await agent.updateState(thread, { messages: [{ role: "user", content: "More" }] });
      for await (const { values: past } of agent.getStateHistory(thread)) expect(past).toBeDefined();
    });

    it("goes on when the serializer changes between its turns", async () => {
      const connect = await open(kind);
      const model = scripted(rome, "Clear.", rome, "Clear again.", "Bye.");
      const ask = (text: string, serde: BaseCheckpointSaver["serde"]) =>
        createAgentGraph({ model, tools: [look], checkpointer: connect(serde) }).invoke(user(text), thread);
      await ask("one", new JsonPlusSerializer());
      await ask("two", messageSerializer());
      const { messages } = await ask("three", new JsonPlusSerializer());
      expect(model.violations()).toEqual([]);
      expect(pairedMessagesOf({ messages })).toHaveLength(10);
    });
  });
});

const SERIALIZERS = {
  /** `createAgentGraph` reads and writes through its own in place of this one. */
  "LangGraph's": () => new JsonPlusSerializer(),
  another: (): BaseCheckpointSaver["serde"] => {
    const stock = new JsonPlusSerializer();
    return {
      dumpsTyped: (value) => stock.dumpsTyped(value),
      loadsTyped: (...given) => stock.loadsTyped(...given),
    };
  },
};

/** What differs between any two threads: ids, times, and the fraction of a run in the versions of channels. */
const OWN =
  /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{32}\b|\d{4}-\d\d-\d\dT[\d:.]+Z|(?<=startedAt\\?":)\d+|(?<=\d)\.\d+/g;

/** All that is stored of the thread, as text. */
async function storedTexts(saver: BaseCheckpointSaver): Promise<unknown[]> {
  const stock = new JsonPlusSerializer();
  saver.serde = {
    dumpsTyped: (value) => stock.dumpsTyped(value),
    loadsTyped: async (type, data) =>
      `${type} ${typeof data === "string" ? data : new TextDecoder().decode(data)}`,
  };
  const texts: unknown[] = [];
  for await (const { checkpoint, metadata, pendingWrites = [] } of saver.list(thread)) {
    const values = [checkpoint, metadata, ...pendingWrites.map(([, ...write]) => write)];
    texts.push(values.map((value) => JSON.stringify(value).replaceAll(OWN, "…")).sort());
  }
  return texts;
}

describe.each(SAVERS)("With $title", (kind) => {
  describe.skipIf(!kind.isThere).each(["full", "delta"] as const)("and the %s channel", (messagesChannel) => {
    it.each(DURABILITIES)("the same is stored with the serializer and without it, %s", async (durability) => {
      const stored = await Promise.all(
        Object.values(SERIALIZERS).map(async (createSerializer) => {
          const saver = (await open(kind))(createSerializer());
          await live(saver, messagesChannel, durability);
          return storedTexts(saver);
        }),
      );
      expect(stored[0]?.length).toBeGreaterThan(3);
      expect(JSON.stringify(stored[0])).toContain("Rome: clear");
      expect(stored[0]).toEqual(stored[1]);
    });
  });
});

describe("A turn of a long thread", () => {
  it.each(["full", "delta"])("hands nothing to LangGraph's serializer: the %s channel", async (channel) => {
    const serde = await countedSerializer();
    const agent = createAgent({
      model: scripted(rome, "Clear.", rome, "Clear."),
      tools: [look],
      checkpointer: new MemorySaver(serde),
      ...(channel === "delta" && { stateSchema: new StateSchema({ messages: PairedMessagesDeltaValue }) }),
    });
    await agent.invoke(user("one"), thread);
    const { messages } = await agent.invoke(user("two"), thread);
    expect(pairedMessagesOf({ messages })).toHaveLength(8);
    expect(serde.count()).toBe(0);
  });
});

describe("A cache of LangGraph", () => {
  it("takes the serializer", async () => {
    const cache = new InMemoryCache<unknown>(await checkedSerializer());
    await cache.set([{ key: [["a"], "b"], value: { messages: [rome] } }]);
    expect(await cache.get([[["a"], "b"]])).toEqual([{ key: [["a"], "b"], value: { messages: [rome] } }]);
  });
});

/*
 * `createAgentGraph` reads and writes through `messageSerializer` where a checkpointer has LangGraph's own serializer.
 */

/** Two turns and an approval. Returns how many messages the thread has then. */
async function live(
  checkpointer: BaseCheckpointSaver,
  messagesChannel: "full" | "delta",
  durability?: (typeof DURABILITIES)[number],
) {
  const agent = createAgentGraph({
    model: scripted("Hello.", rome, "Clear."),
    tools: [look],
    requireApproval: ["look"],
    checkpointer,
    messagesChannel,
  });
  const options = { ...thread, ...(durability && { durability }) };
  await agent.invoke(user("Hello", "h1"), options);
  await agent.invoke(user("How is the sky?", "h2"), options);
  await agent.invoke(new Command({ resume: { decisions: [{ type: "approve" }] } }), options);
  await agent.updateState(thread, user("More", "h3"));
  return pairedMessagesOf((await agent.getState(thread)).values).length;
}

afterEach(() => vi.restoreAllMocks());

const DIRECT = [
  { title: "MemorySaver", isThere: true, open: async () => ({ connect: () => new MemorySaver() }) },
  ...SAVERS.filter(({ title }) => /^(Sqlite|Postgres)Saver$/.test(title)),
];

describe.each(DIRECT)("With LangGraph's serializer in $title", ({ isThere, open }) => {
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
  /** LangGraph's serializer in an object of its own, which counts what it writes. */
  const counting = () => {
    const stock = new JsonPlusSerializer();
    const dumpsTyped = vi.fn((value: unknown) => stock.dumpsTyped(value));
    return {
      dumpsTyped,
      loadsTyped: (type: string, data: Uint8Array | string) => stock.loadsTyped(type, data),
    };
  };

  it("with a serializer of its own", async () => {
    const own = counting();
    expect(await live(new MemorySaver(own), "full")).toBe(7);
    expect(own.dumpsTyped.mock.calls.length).toBeGreaterThan(4);
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
    const own = counting();
    saver.serde = own;
    await agent.invoke(user("two"), thread);
    expect(own.dumpsTyped.mock.calls.length).toBeGreaterThan(2);
  });

  it("with private fields, which a view cannot read, and fields that its methods set", async () => {
    class CountingSaver extends MemorySaver {
      #reads = 0;
      written = 0;
      override getTuple(...given: Parameters<MemorySaver["getTuple"]>) {
        this.#reads += 1;
        return super.getTuple(...given);
      }
      override put(...given: Parameters<MemorySaver["put"]>) {
        this.written += 1;
        return super.put(...given);
      }
      get reads(): number {
        return this.#reads;
      }
    }
    const saver = new CountingSaver();
    expect(await live(saver, "full")).toBe(7);
    expect(saver.reads).toBeGreaterThan(0);
    expect(saver.written).toBeGreaterThan(4);
  });

  /** What a compiler makes of a class with private methods, if it writes for engines that do not have them. */
  it.each([
    ["esbuild", "__privateMethod"],
    ["TypeScript", "__classPrivateFieldGet"],
    ["Babel", "_classPrivateMethodGet"],
    ["SWC", "_class_private_method_get"],
  ])("with private methods that %s has compiled", async (_, helper) => {
    const instances = new WeakSet<object>();
    const checkInstance = (saver: object) => {
      if (!instances.has(saver)) throw new TypeError("Cannot access private method");
    };
    const compile = new Function(
      "MemorySaver",
      helper,
      `return class extends MemorySaver { put(...given) { ${helper}(this); return super.put(...given); } }`,
    );
    const CompiledSaver: typeof MemorySaver = compile(MemorySaver, checkInstance);
    const saver = new CompiledSaver();
    instances.add(saver);
    expect(await live(saver, "full")).toBe(7);
  });
});
