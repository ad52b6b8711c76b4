import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type ChatContext,
  chatMiddleware,
  createAgentGraph,
  MiddlewareTermination,
  type Next,
} from "../../../src/index.js";
import { chatAgent, config } from "../../fixtures/middleware/chat-agent.js";
import { openAIAt } from "../../support/clients.js";
import { startModelServer } from "../../support/model-server.js";
import { openThread } from "../../support/open-thread.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { PlainClient, shown } from "../../support/stream-faults.js";
import { pairedMessagesOf, pairedScript, user } from "../../support/thread.js";
import { rowsOf } from "../../support/titled.js";

const HISTORY = ["human: one", "ai: ", "tool: fast done -"];
const SYSTEM = "system: Be brief.";

const SENT = rowsOf<[change: (context: ChatContext) => void, sent: readonly string[]]>({
  nothing: [() => {}, [SYSTEM, ...HISTORY]],
  "an instruction at the end, which goes to the front": [
    ({ messages }) => void messages.push(new SystemMessage("Rhyme.")),
    ["system: Be brief.\n\nRhyme.", ...HISTORY],
  ],
  "a message of a user": [
    ({ messages }) => void messages.push(new HumanMessage("Go on.")),
    [SYSTEM, ...HISTORY, "ai: I have the results.", "human: Go on."],
  ],
  "what stands for a message": [
    ({ messages }) => void messages.push({ role: "user", content: "Go on." } as never),
    [SYSTEM, ...HISTORY, "ai: I have the results.", "human: Go on."],
  ],
  "the texts in place": [
    ({ messages }) => {
      for (const message of messages) message.content = `${message.text}!`;
    },
    ["system: Be brief.!", "human: one!", "ai: !", "tool: fast done -!"],
  ],
  "a call without its result": [
    (context) => {
      context.messages = context.messages.filter(({ type }) => type !== "tool");
    },
    [SYSTEM, "human: one", "ai: ", expect.stringMatching(/^tool: Tool call fast .* no result was recorded/)],
  ],
  "a result without its call": [
    (context) => {
      context.messages = context.messages.filter(({ type }) => type !== "ai");
    },
    [SYSTEM, "human: one"],
  ],
  "a result of no call": [
    ({ messages }) => void messages.push(new ToolMessage({ content: "x", tool_call_id: "none" })),
    [SYSTEM, ...HISTORY],
  ],
  "no message at all": [
    ({ messages }) => void messages.splice(0),
    ["human: (The beginning of this conversation is not shown.)"],
  ],
});

describe("the sent request", () => {
  it.each(SENT)("can be changed, and is not stored: %s", async (_title, change, sent) => {
    const { model, send } = chatAgent(
      async (context, next) => {
        if (context.messages.at(-1)?.type === "tool") change(context);
        await next();
      },
      [calls(["fast"]), "done"],
    );
    expect(await send("one")).toEqual(["human: one", "ai> fast", "tool: fast done -", "ai: done"]);
    expect(model.requests[1]?.messages.map(({ type, text }) => `${type}: ${text}`)).toEqual(sent);
  });

  it("must be a message, and the error says what it was", async () => {
    const { graph } = chatAgent(async ({ messages }, next) => {
      messages.push(42 as never);
      await next();
    }, []);
    await expect(graph.invoke(user("one"), config)).rejects.toThrow("`messages[2]` to be a message");
  });

  it.each([
    [
      "messages",
      undefined,
      "InvalidMessageError",
      "`context.messages` to be a list of messages, got `undefined`",
    ],
    [
      "messages",
      "hello",
      "InvalidMessageError",
      '`context.messages` to be a list of messages, got `"hello"`',
    ],
    ["options", undefined, "InvalidSettingError", "`context.options` to be an object, got `undefined`"],
    [
      "options.parameters",
      null,
      "InvalidSettingError",
      "`context.options.parameters` to be an object, got `null`",
    ],
    ["options.parameters", 5, "InvalidSettingError", "`context.options.parameters` to be an object, got `5`"],
  ])("cannot be of another shape, and the error names it: `%s` as %j", async (place, value, name, says) => {
    const { graph, model } = chatAgent(async (context, next) => {
      if (place === "options.parameters") context.options.parameters = value as never;
      else Reflect.set(context, place, value);
      await next();
    }, []);
    const message = expect.stringContaining(says);
    await expect(graph.invoke(user("one"), config)).rejects.toMatchObject({ name, message });
    expect(model.requests).toEqual([]);
  });

  it("can be changed deep within a message, whose history is not", async () => {
    const { graph, model } = chatAgent(
      async ({ messages }, next) => {
        for (const { content } of messages)
          if (Array.isArray(content))
            for (const block of content) if (block.type === "text") block.text = "hidden";
        await next();
      },
      ["done"],
    );
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
    const given = new HumanMessage({ content: [{ type: "text", text: "secret" }, image] as never });
    const values = await graph.invoke({ messages: [given] }, config);
    expect(JSON.stringify(model.requests[0]?.messages)).toContain("hidden");
    expect(JSON.stringify(model.requests[0]?.messages)).not.toContain("secret");
    expect([pairedMessagesOf(values)[0]?.text, given.text]).toEqual(["secret", "secret"]);
  });

  it("includes the tool choice, for this call only", async () => {
    const { model, send } = chatAgent(
      async ({ options, messages }, next) => {
        if (messages.at(-1)?.type === "human")
          options.toolChoice = { mode: "required", afterRequired: "answer" };
        await next();
      },
      [calls(["fast"]), "done"],
    );
    await send("one");
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(["any", "none"]);
  });

  it("is refused with a tool choice that names no tool", async () => {
    const { send } = chatAgent(async ({ options }, next) => {
      options.toolChoice = { mode: "required", requiredFunctionName: "slow" };
      await next();
    }, []);
    await expect(send("one")).rejects.toThrow("requires `slow`");
  });

  it("has the parameters, even if the client keeps them as fields", async () => {
    const server = await startModelServer(() => ({ text: "done" }));
    onTestFinished(() => server.stop());
    const model = openAIAt(server.url, { model: "test", temperature: 1, streamUsage: false });
    const middleware = chatMiddleware(async ({ options }, next) => {
      options.parameters = { temperature: 0.25, topP: 0.5, stop: ["."] };
      await next();
    });
    const { fast } = createProbe();
    await createAgentGraph({ model, tools: [fast], middleware: [middleware] }).invoke(user("go"));
    await createAgentGraph({ model, tools: [fast] }).invoke(user("go"));
    expect(server.bodies).toMatchObject([{ temperature: 0.25, top_p: 0.5, stop: ["."] }, { temperature: 1 }]);
    expect(server.requests.map(({ tools }) => tools.length)).toEqual([1, 1]);
    expect(server.bodies[1]).not.toHaveProperty("stop");
  });
});

// A chat middleware that changes the model's response.

describe("the response", () => {
  it("can replace the response of a model that failed", async () => {
    const { send } = chatAgent(
      async (context, next) => {
        await next().catch(() => {
          context.result = "It is down.";
        });
      },
      [new Error("500"), "done"],
    );
    expect(await send("one")).toEqual(["human: one", "ai: It is down."]);
    expect((await send("two")).slice(2)).toEqual(["human: two", "ai: done"]);
  });

  it("can have tool calls, which are run", async () => {
    const { send, probe } = chatAgent(
      async (context, next) => {
        if (context.messages.at(-1)?.type === "human") context.result = calls(["fast"]);
        else await next();
      },
      ["done"],
    );
    expect(await send("one")).toEqual(["human: one", "ai> fast", "tool: fast done -", "ai: done"]);
    expect(probe.runs).toHaveLength(1);
  });

  it("can be the same object several times: each is stored unchanged", async () => {
    const cached = new AIMessage({ id: "cached", content: "Hello." });
    const { send } = chatAgent(async (context) => {
      context.result = cached;
    }, []);
    await send("one");
    expect(await send("two")).toEqual(["human: one", "ai: Hello.", "human: two", "ai: Hello."]);
    expect(cached.id).toBe("cached");
  });

  it("keeps fields that were set on it since it was made", async () => {
    const given = new AIMessage("Hello.");
    given.name = "bot";
    const { graph, send } = chatAgent(async (context) => {
      context.result = given;
    }, []);
    await send("one");
    expect(pairedMessagesOf((await graph.getState(config)).values).at(-1)?.name).toBe("bot");
  });

  it("is not shown if the middleware removes it and ends the run", async () => {
    const { graph } = chatAgent(
      async (context, next) => {
        await next();
        context.result = undefined;
        throw new MiddlewareTermination();
      },
      ["a secret"],
    );
    const client = new PlainClient();
    for await (const [message] of await graph.stream(user("one"), { ...config, streamMode: "messages" }))
      client.add(message);
    expect(shown(client.messages)).toEqual([]);
    expect(pairedScript((await graph.getState(config)).values)).toEqual(["human: one"]);
  });

  it.each([
    ["a number", 42],
    ["a user's message", new HumanMessage("x")],
  ])("cannot be %s", async (_what, result) => {
    const { send } = chatAgent(async (context) => {
      context.result = result as never;
    }, []);
    await expect(send("one")).rejects.toThrow("`context.result` to be an assistant message or a text");
  });
});

// Chat middleware with `retry` asks the model again. Only the last response is stored and shown.

type Handle = (context: ChatContext, next: Next) => Promise<void>;

const twice: Handle = async (_context, next) => {
  await next();
  await next();
};

const untilLong: Handle = async (context, next) => {
  do await next();
  while ((context.result?.text.length ?? 0) < 10 && context.attempt < 3);
};

function open(handle: Handle, steps: readonly Step[], readOnly = false) {
  const probe = createProbe();
  const graph = createAgentGraph({
    model: scripted(...steps),
    tools: [probe.fast],
    checkpointer: new MemorySaver(),
    middleware: [chatMiddleware(handle, { name: "again", retry: true, readOnly })],
  });
  return { ...openThread(graph), probe };
}

const piece = (content: string, id: string) => new AIMessageChunk({ content, id });

describe.each([false, true])("a chat middleware with retry, readOnly: %s,", (readOnly) => {
  it("asks until it likes the response, and knows the attempt", async () => {
    const attempts: number[] = [];
    const handle: Handle = async (context, next) => {
      await untilLong(context, async () => {
        await next();
        attempts.push(context.attempt);
      });
    };
    const thread = open(handle, ["short", "no", "long enough now"], readOnly);
    const { messages, error } = await thread.send("go");
    expect(error).toBeUndefined();
    expect(attempts).toEqual([1, 2, 3]);
    expect(messages.map(({ text }) => text)).toEqual(["long enough now"]);
    expect((await thread.read()).map(({ text }) => text)).toEqual(["go", "long enough now"]);
  });

  it("asks again after an error of the model", async () => {
    const handle: Handle = async (_context, next) => {
      await next().catch(next);
    };
    const thread = open(handle, [new Error("503"), "here"], readOnly);
    expect((await thread.send("go")).messages.map(({ text }) => text)).toEqual(["here"]);
  });

  it("discards tool calls: they are not run, shown or stored", async () => {
    const steps = [calls(["fast", { label: "1" }]), calls(["fast", { label: "2" }]), "done", "the end"];
    const thread = open(twice, steps, readOnly);
    const { messages } = await thread.send("go");
    expect(thread.probe.runs).toEqual(["fast:2"]);
    const stored = await thread.read();
    expect(stored.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
    expect(messages.map(({ id }) => id)).toEqual(stored.slice(1).map(({ id }) => id));
  });

  it("shows each response under its own id, even if the provider repeats it", async () => {
    const thread = open(twice, [[piece("one", "same")], [piece("two", "same")]], readOnly);
    const { messages } = await thread.send("go");
    expect(messages.map(({ text }) => text)).toEqual(["two"]);
    expect((await thread.read()).at(-1)).toMatchObject({ id: messages[0]?.id, content: "two" });
  });

  it("can go back to an earlier response", async () => {
    const handle: Handle = async (context, next) => {
      await next();
      const first = context.result;
      await next().catch(() => {
        context.result = first;
      });
    };
    const thread = open(handle, [[piece("one", "a")], new Error("503")], readOnly);
    const { messages, error } = await thread.send("go");
    expect(error).toBeUndefined();
    expect(messages.map(({ text }) => text)).toEqual(["one"]);
    expect((await thread.read()).map(({ text }) => text)).toEqual(["go", "one"]);
  });

  it("has no result left if the last attempt failed", async () => {
    const handle: Handle = async (_context, next) => {
      await next();
      await next().catch(() => {});
    };
    const thread = open(handle, ["one", new Error("503")], readOnly);
    const { error, messages } = await thread.send("go");
    expect(String(error)).toContain("no `context.result`");
    expect(messages).toEqual([]);
  });
});

it("An inner middleware runs in each attempt, and can answer the second one itself", async () => {
  const seen: string[] = [];
  const inner = chatMiddleware(async (context, next) => {
    seen.push(`attempt ${context.attempt}`);
    if (context.attempt === 1) await next();
    else context.result = "from the inner one";
  });
  const graph = createAgentGraph({
    model: scripted("one"),
    checkpointer: new MemorySaver(),
    middleware: [chatMiddleware(twice, { retry: true }), inner],
  });
  const { messages } = await openThread(graph).send("go");
  expect(seen).toEqual(["attempt 1", "attempt 2"]);
  expect(messages.map(({ text }) => text)).toEqual(["from the inner one"]);
});
