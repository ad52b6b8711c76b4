/** The law of refusals: whatever a provider refuses in a request, the thread lives or the first error comes back. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { createMiddleware, modelFallbackMiddleware } from "langchain";
import { expect } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { FunctionModel, OpenAILike } from "../support/models.js";
import { openAgent, openThread } from "../support/open-thread.js";
import { law } from "../support/test-tools.js";
import { inThread, user } from "../support/thread.js";

type Refuses = (messages: readonly BaseMessage[]) => boolean;
const blocksOf = (message: BaseMessage) => (Array.isArray(message.content) ? message.content : []);
const picturesIn = (messages: readonly BaseMessage[]) =>
  messages.flatMap(blocksOf).filter(({ type }) => type === "image_url" || type === "image").length;

/** Rules that the library does not know, by name. */
const RULES = {
  "no message of a length that 7 divides": () => (messages) =>
    messages.slice(0, -1).some(({ text }) => text.length > 0 && text.length % 7 === 0),
  "no more than n pictures": (n) => (messages) => picturesIn(messages) > n % 3,
  "no block of a type": (n) => (messages) =>
    messages.flatMap(blocksOf).some(({ type }) => type === ["image_url", "image", "strange"][n % 3]),
  "no more than n results": (n) => (messages) => messages.filter(({ type }) => type === "tool").length > n,
  "no call of a tool": () => (messages) => messages.some((one) => (one as AIMessage).tool_calls?.length),
  "no more than n messages": (n) => (messages) => messages.length > n + 1,
  "no two messages of a role": () => (messages) =>
    messages.some(({ type }, index) => type === messages[index - 1]?.type),
  "no repeated text": () => (messages) => new Set(messages.map(({ text }) => text)).size < messages.length,
  "no names": () => (messages) => messages.some(({ name }) => name !== undefined),
  "nothing at all": () => () => true,
} as const satisfies Readonly<Record<string, (n: number) => (messages: readonly BaseMessage[]) => unknown>>;

const refusing = fc
  .tuple(fc.constantFrom(...(Object.keys(RULES) as (keyof typeof RULES)[])), fc.nat(6))
  .map(([name, n]) => ({ name, refuses: ((messages) => Boolean(RULES[name](n)(messages))) as Refuses }));

const PICTURE = { type: "image_url", image_url: { url: "data:image/png;base64,cGljdHVyZQ==" } };

/** One turn each: the user's message, with a picture or a block that nobody knows, and what the model did. */
const turns = fc.array(
  fc.record({
    text: fc.string({ minLength: 1, maxLength: 30 }).filter((text) => text.trim() !== ""),
    block: fc.constantFrom(undefined, PICTURE, { type: "strange", text: "odd" }),
    calls: fc.nat(3),
    name: fc.constantFrom(undefined, "ann"),
  }),
  { minLength: 1, maxLength: 5 },
);

const historyOf = (told: typeof turns extends fc.Arbitrary<infer Told> ? Told : never): BaseMessage[] =>
  told.flatMap(({ text, block, calls, name }, turn) => {
    const content = block === undefined ? text : [{ type: "text", text }, block];
    const ids = Array.from({ length: calls }, (_, index) => `call${turn}x${index}`);
    const work =
      calls === 0
        ? []
        : [
            new AIMessage({
              id: `w${turn}`,
              content: "",
              tool_calls: ids.map((id) => ({ id, name: "look", args: { turn } })),
            }),
            ...ids.map(
              (id) => new ToolMessage({ id, content: `seen ${id}`, tool_call_id: id, name: "look" }),
            ),
          ];
    return [
      new HumanMessage({ id: `u${turn}`, content: content as never, ...(name && { name }) }),
      ...work,
      new AIMessage({ id: `a${turn}`, content: `answer ${turn}` }),
    ];
  });

const MADE = { "an unknown client": FunctionModel, OpenAI: OpenAILike } as const;
const kinds = fc.constantFrom(...(Object.keys(MADE) as (keyof typeof MADE)[]));

/** The threads, and what they have stored. */
const OPENED = {
  graph: async (model: FunctionModel, history: BaseMessage[]) => {
    const config = inThread("1");
    const graph = createAgentGraph({ model, checkpointer: new MemorySaver() });
    await graph.updateState(config, { messages: history });
    const thread = openThread(graph);
    return { send: (text: string) => thread.send(text), read: () => thread.read() };
  },
  middleware: async (model: FunctionModel, history: BaseMessage[]) => {
    const thread = openAgent({ model });
    await thread.update(history);
    return { send: (text: string) => thread.run(user(text)), read: () => thread.read() };
  },
} as const;

/** With one text in the place of the earlier turns, only these can still be broken. */
const STILL_BROKEN: readonly string[] = [
  "nothing at all",
  "no message of a length that 7 divides",
  "no more than n messages",
  "no names",
];

/** Words without vowels. No provider uses them. */
const words = fc.stringMatching(/^[bdfghjklm]{4,9}( [bdfghjklm]{4,9}){0,4}$/);
const refusal = (text: string, more: object = {}) =>
  Object.assign(new Error(`400 ${text}`), { status: 400, ...more });

for (const place of ["graph", "middleware"] as const)
  law(
    `${place}: the thread lives or the first error comes back, the history stays, and the third turn pays once`,
    60,
    [refusing, turns, kinds, words],
    async ({ name, refuses }, told, kind, said) => {
      let refused = 0;
      const model = new MADE[kind](({ messages }) => {
        if (!refuses(messages)) return "Fine.";
        refused += 1;
        return refusal(`${said} (${refused})`);
      });
      const history = historyOf(told);
      const { send, read } = await OPENED[place](model, history);
      const before = shown(await read());
      const { error } = await send("And now?");
      expect(model.requests.length).toBeLessThanOrEqual(4);
      expect(shown((await read()).slice(0, history.length))).toBe(before);
      if (error !== undefined) {
        expect(String(error)).toContain(`${said} (1)`);
        expect(STILL_BROKEN).toContain(name);
        return;
      }
      const isChanged = model.requests.length > 1;
      // The second turn tries the usual form again. What helped is proven if that is refused.
      let asked = model.requests.length;
      expect((await send("And then?")).error === undefined || STILL_BROKEN.includes(name)).toBe(true);
      const second = model.requests.slice(asked);
      expect(second.length).toBeLessThanOrEqual(4);
      const isProven = isChanged && second.length === 2;
      asked = model.requests.length;
      expect((await send("And at last?")).error === undefined || STILL_BROKEN.includes(name)).toBe(true);
      const [next] = model.requests.slice(asked);
      if (isProven && next !== undefined && !refuses(next.messages))
        expect(model.requests.length).toBe(asked + 1);
      if (isProven) expect(JSON.stringify(next?.messages)).not.toBe(JSON.stringify(second[0]?.messages));
    },
  );

/** A model that is asked with tools, and how the choice among them changes between two turns. */
const CHOOSING = {
  graph: (model: FunctionModel) => {
    const checkpointer = new MemorySaver();
    return (text: string, isForced: boolean) => {
      const toolChoice = isForced ? "required" : "auto";
      return openThread(createAgentGraph({ model, tools: [look], checkpointer, toolChoice })).send(text);
    };
  },
  middleware: (model: FunctionModel) => {
    let toolChoice: string | undefined;
    const choosing = createMiddleware({
      name: "choosing",
      wrapModelCall: (request, handler) => handler({ ...request, toolChoice } as never),
    });
    const thread = openAgent({ model, tools: [look], middleware: [choosing, tetherMiddleware()] });
    return (text: string, isForced: boolean) => {
      toolChoice = isForced ? "required" : undefined;
      return thread.run(user(text));
    };
  },
} as const;

for (const place of ["graph", "middleware"] as const)
  law(
    `${place}: a provider that refuses a key, a policy or a parameter in any words is asked once`,
    40,
    [words, fc.nat(3), fc.boolean(), kinds],
    async (said, turnsBefore, isKey, kind) => {
      let isRevoked = false;
      const model = new MADE[kind](({ toolChoice }) =>
        isRevoked || toolChoice !== undefined
          ? refusal(said, isRevoked ? { code: "invalid_api_key" } : {})
          : "Fine.",
      );
      const send = CHOOSING[place](model);
      for (let turn = 0; turn < turnsBefore; turn += 1)
        expect((await send(`Turn ${turn}.`, false)).error).toBeUndefined();
      isRevoked = isKey;
      const before = model.requests.length;
      expect(String((await send("And now?", !isKey)).error)).toContain(said);
      expect(model.requests.length - before).toBe(1);
    },
  );

const failedSamples = fc.constantFrom(
  { code: "tool_use_failed", failed_generation: "<function=look>" },
  { code: "json_validate_failed" },
  { error: { message: "x", failed_generation: "" } },
);

for (const place of ["graph", "middleware"] as const)
  law(
    `${place}: a failure of sampling is asked again as it is, and leaves no mark`,
    40,
    [words, fc.array(fc.nat(3), { minLength: 1, maxLength: 4 }), failedSamples, kinds, turns],
    async (said, failures, more, kind, told) => {
      let left = 0;
      const model = new MADE[kind](() => {
        if (left === 0) return "Fine.";
        left -= 1;
        return refusal(said, more);
      });
      const { send, read } = await OPENED[place](model, historyOf(told));
      for (const count of failures) {
        left = count;
        const before = model.requests.length;
        expect((await send("And now?")).error).toBeUndefined();
        const requests = model.requests.slice(before);
        expect(requests).toHaveLength(count + 1);
        expect(new Set(requests.map(({ messages }) => shown(messages))).size).toBe(1);
      }
      expect((await read()).some(({ additional_kwargs }) => "tether_reduced" in additional_kwargs)).toBe(
        false,
      );
    },
  );

const shown = (messages: readonly BaseMessage[]): string =>
  JSON.stringify(messages.map(({ content, id }) => [content, id]));

/*
 * A turn of several steps. What the tool returns can be refused too.
 */

const BLOCKS = [PICTURE, { type: "strange", text: "odd" }, undefined] as const;

/** What the nth call returns: a picture or a block that nobody knows, different each time, or a text. */
const look = tool(
  ({ place }) => {
    const block = BLOCKS[place % BLOCKS.length];
    const text = { type: "text", text: `seen ${place}` };
    if (block === undefined) return [text];
    const other = { url: `data:image/png;base64,${btoa(`picture ${place}`)}` };
    return [text, block === PICTURE ? { ...PICTURE, image_url: other } : block];
  },
  { name: "look", description: "Looks.", schema: z.object({ place: z.number() }) },
);

const CALLING = {
  graph: (model: FunctionModel, fallback: FunctionModel | undefined) => {
    const fallbackModels = fallback === undefined ? [] : [fallback];
    const graph = createAgentGraph({ model, fallbackModels, tools: [look], checkpointer: new MemorySaver() });
    const thread = openThread(graph);
    return { send: thread.send, read: thread.read };
  },
  middleware: (model: FunctionModel, fallback: FunctionModel | undefined) => {
    const others = fallback === undefined ? [] : [modelFallbackMiddleware(fallback as never)];
    const thread = openAgent({ model, tools: [look], middleware: [...others, tetherMiddleware()] });
    return { send: (text: string) => thread.run(user(text)), read: thread.readOpen };
  },
} as const;

for (const place of ["graph", "middleware"] as const)
  law(
    `${place}: a turn has at most three further requests, over all its steps and models`,
    60,
    [fc.array(refusing, { minLength: 1, maxLength: 3 }), fc.nat(6), fc.nat(3), fc.boolean(), kinds],
    async (rules, steps, first, hasFallback, kind) => {
      const refusals: string[] = [];
      let isOpen = true;
      const answer = ({ messages }: { readonly messages: readonly BaseMessage[] }) => {
        if (isOpen && rules.some(({ refuses }) => refuses(messages))) {
          refusals.push(`Not acceptable (${refusals.length})`);
          return Object.assign(new Error(`400 ${refusals.at(-1)}`), { status: 400 });
        }
        const seen = messages.flatMap(({ text }) =>
          [...text.matchAll(/seen (\d+)/g)].map(([, n]) => Number(n)),
        );
        const next = seen.length === 0 ? first : Math.max(...seen) + 1;
        if (!isOpen || next - first >= steps) return "Fine.";
        const call = { id: `c${next}`, name: "look", args: { place: next } };
        return new AIMessage({ content: "", tool_calls: [call] });
      };
      const [model, fallback] = [new MADE[kind](answer), new MADE[kind](answer)];
      const { send, read } = CALLING[place](model, hasFallback ? fallback : undefined);
      const { error } = await send("Go on.");
      const models = error === undefined && fallback.requests.length === 0 ? 0 : hasFallback ? 2 : 1;
      expect(refusals.length).toBeLessThanOrEqual(3 + models);
      expect((await read()).filter(({ type }) => type === "human")).toHaveLength(1);
      // The thread itself is not broken.
      isOpen = false;
      expect((await send("And then?")).error).toBeUndefined();
    },
  );
