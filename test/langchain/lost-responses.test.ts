/** A process that died after it had shown a response, and before the step of the response was stored. */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createMiddleware } from "langchain";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { lines } from "../support/lines.js";
import { calls } from "../support/models.js";
import { mortalSaver, SAVERS } from "../support/mortal-saver.js";
import { openAgent } from "../support/open-thread.js";
import { type Step, scripted } from "../support/scripted-model.js";
import { script, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

/** Lets the process die when the model has responded this often. */
function dying(after: number, die: () => void) {
  let responses = 0;
  return createMiddleware({
    name: "Dying",
    wrapModelCall: async (request, handler) => {
      const response = await handler(request);
      responses += 1;
      if (responses === after) die();
      return response;
    },
  });
}

/** Two processes with one saver. The first one dies after a number of responses. */
function open(steps: readonly Step[], { after = 1, delta = false, saver = SAVERS[0] } = {}) {
  const stored = saver?.create();
  if (stored === undefined) throw new Error("There is no saver.");
  const { mortal, die } = mortalSaver(stored, ["put"]);
  const probe = createProbe();
  const model = scripted(...steps);
  const start = (checkpointer: typeof stored, more: object[]) =>
    openAgent({
      model,
      tools: [probe.fast],
      checkpointer,
      stateSchema: tetherState({ delta }),
      middleware: [...more, tetherMiddleware()],
    });
  return { probe, dead: start(mortal, [dying(after, die)]), next: start(stored, []) };
}

const types = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

describe("a response that was shown and not stored", () => {
  it.each(SAVERS.flatMap((saver) => [false, true].map((delta) => ({ saver, name: saver.name, delta }))))(
    "is in the thread again, before the new message: $name, delta $delta",
    async ({ saver, delta }) => {
      const { dead, next } = open(["The answer is 42.", "As I said: 42."], { saver, delta });
      const { messages: shown, error } = await dead.run(user("What is it?"), { durability: "sync" });
      expect(error).toBeDefined();
      const { events, messages } = await next.run(user("Sorry?"));
      expect(types(events)).toEqual(["response-recovered"]);
      expect(script(await next.read())).toEqual(
        lines("human: What is it? | ai: The answer is 42. | human: Sorry? | ai: As I said: 42."),
      );
      expect((await next.read())[1]?.id).toBe(shown.at(-1)?.id);
      // It is not shown a second time.
      expect(messages.map(({ text }) => text)).toEqual(["As I said: 42."]);
    },
  );

  it.each([
    { durability: "sync" as const, unseen: [], ran: [] },
    // The process went on while its checkpoints could not be saved.
    { durability: "async" as const, unseen: ["Done."], ran: ["fast:-"] },
  ])(
    "has its calls closed, and nobody knows what they did ($durability)",
    async ({ durability, unseen, ran }) => {
      const { dead, next, probe } = open([calls(["fast", {}, "f"]), ...unseen, "Sorry."]);
      expect((await dead.run(user("Go."), { durability })).error).toBeDefined();
      const { events } = await next.run(user("Hello?"));
      expect(types(events)).toEqual(["response-recovered", "call-closed"]);
      expect(script(await next.read())).toEqual(
        lines(
          "human: Go. | ai> fast",
          "tool! Tool call fast (f): a new message came before it finished. It may or may not have taken effect.",
          "human: Hello? | ai: Sorry.",
        ),
      );
      expect(probe.runs).toEqual(ran);
    },
  );

  it("can follow results", async () => {
    const { dead, next, probe } = open([calls(["fast", {}, "f"]), "It is done.", "Yes."], { after: 2 });
    expect((await dead.run(user("Go."), { durability: "sync" })).error).toBeDefined();
    await next.run(user("Really?"));
    expect(script(await next.read())).toEqual(
      lines("human: Go. | ai> fast | tool: fast done - | ai: It is done. | human: Really? | ai: Yes."),
    );
    expect(probe.runs).toEqual(["fast:-"]);
  });

  it("is used by a run that goes on without input, so that the model is not asked again", async () => {
    const { dead, next } = open(["The answer is 42."]);
    expect((await dead.run(user("What is it?"), { durability: "sync" })).error).toBeDefined();
    expect((await next.run(null)).error).toBeUndefined();
    expect(script(await next.read())).toEqual(["human: What is it?", "ai: The answer is 42."]);
  });

  it("is recovered once, and stays removed if a client removes it", async () => {
    const { dead, next } = open(["The answer is 42.", "Yes.", "Well."]);
    await dead.run(user("What is it?"), { durability: "sync" });
    await next.run(user("Sorry?"));
    const [, lost] = await next.read();
    const removal: BaseMessage = new RemoveMessage({ id: lost?.id ?? "" });
    const { events } = await next.run({ messages: [removal, { role: "user", content: "Go on." }] });
    expect(types(events)).toEqual([]);
    expect(script(await next.read())).toEqual(
      lines("human: What is it? | human: Sorry? | ai: Yes. | human: Go on. | ai: Well."),
    );
  });
});

const idle = createMiddleware({ name: "Idle", stateSchema: z.object({}) });

it.each([false, true])(
  "a sound thread is read as often as with a middleware that does nothing: delta %s",
  async (delta) => {
    const countReads = async (middleware: object[]): Promise<number> => {
      const checkpointer = new MemorySaver();
      const reads = vi.spyOn(checkpointer, "getTuple");
      const { fast } = createProbe();
      const model = scripted(calls(["fast"]), "Done.", "Again.");
      const options = { checkpointer, stateSchema: tetherState({ delta }), middleware };
      const { agent, config } = openAgent({ model, tools: [fast], ...options });
      for (const text of ["Go.", "And?"]) await agent.invoke(user(text) as never, config as never);
      return reads.mock.calls.length;
    };
    expect(await countReads([tetherMiddleware()])).toBe(await countReads([idle]));
  },
);
