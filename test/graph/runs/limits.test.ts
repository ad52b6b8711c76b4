import { describe, expect, it } from "vitest";
import type { AgentEvent } from "../../../src/index.js";
import { agentThread, type ThreadOptions } from "../../support/agent-thread.js";
import { allOf } from "../../support/async.js";
import { lines } from "../../support/lines.js";
import { calls } from "../../support/models.js";
import { scripted } from "../../support/scripted-model.js";
import { inThread, pairedMessagesOf, script, user } from "../../support/thread.js";

/** A thread of the offline model with the probe's tools. */
function thread(options: ThreadOptions = {}) {
  const tools: ThreadOptions["tools"] = ({ fast, failing }) => [fast, failing];
  const { graph, runs } = agentThread([], { model: "offline:", tools, ...options });
  /** One run, which ends with a text. */
  const send = async (request: string, more: object = {}) => {
    const config = { ...inThread("1"), ...more, streamMode: ["custom", "values"] as const };
    const chunks = await allOf<[string, AgentEvent]>(graph.stream(user(request), config as object));
    const events = chunks.flatMap(([mode, data]) => (mode === "custom" ? [data] : []));
    const messages = pairedMessagesOf(chunks.findLast(([mode]) => mode === "values")?.[1]);
    expect(messages.at(-1)).toMatchObject({ type: "ai", text: expect.stringMatching(/./) });
    return { messages, events: events.filter(({ type }) => type !== "run-end") };
  };
  return { graph, send, runs };
}

/** One run of such a graph, and what it ran. */
async function run(request: string, options: ThreadOptions = {}, more: object = {}) {
  const { send, runs } = thread(options);
  return { ...(await send(request, more)), runs };
}

const reached = (limit: string) => [{ type: "limit-reached", limit }];

/** This many rounds in sequence, with calls of the given tools. */
const rounds = (count: number, ...names: string[]) =>
  Array.from({ length: count }, (_, round) =>
    names.map((name) => `call ${name} {"label": "${round}"}`).join(" and "),
  ).join(", then ");

describe("maxIterations", () => {
  it.each([1, 2, 3])(
    "%i lets the model be called so often with tools, and once more without",
    async (limit) => {
      const { messages, runs, events } = await run(rounds(6, "fast"), { maxIterations: limit });
      expect(runs).toHaveLength(limit);
      expect(messages).toHaveLength(2 + 2 * limit);
      expect(events).toMatchObject(reached("max-iterations"));
    },
  );

  it("is 40 by default, and the recursion limit suffices for it if the caller sets none", async () => {
    expect((await run(rounds(45, "fast"))).runs).toHaveLength(40);
  });

  it("begins anew with each turn of a thread", async () => {
    const { send, runs } = thread({ maxIterations: 2 });
    for (const request of [rounds(3, "fast"), rounds(3, "fast")]) await send(request);
    expect(runs).toHaveLength(4);
  });

  it("allows a turn that needs exactly this many", async () => {
    const { runs, messages, events } = await run(rounds(2, "fast"), { maxIterations: 3 });
    expect(runs).toHaveLength(2);
    expect(messages.at(-1)?.text).toContain("fast done 1");
    expect(events).toEqual([]);
  });
});

it("The closing call declares the tools, forbids their use, and drops a call that the model makes anyway", async () => {
  const model = scripted(calls(["fast"]), calls(["fast"], ["failing"]));
  const { messages, runs } = await run("go", { model, maxIterations: 1 });
  expect(runs).toEqual(["fast:-"]);
  expect(script(messages)).toEqual(lines("human: go | ai> fast | tool: fast done - | ai: …"));
  expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, "none"]);
  expect(model.requests.map(({ toolNames }) => toolNames)).toEqual(Array(2).fill(["fast", "failing"]));
});

describe("maxToolCalls", () => {
  it.each([
    [0, 1, 0],
    [1, 1, 1],
    [2, 1, 2],
    [2, 2, 2],
    [3, 2, 2],
    [1, 2, 0],
    [5, 3, 3],
  ])("%i with batches of %i runs %i calls, and ends in text", async (limit, batch, ran) => {
    const request = rounds(5, ...Array(batch).fill("fast"));
    const { runs, events } = await run(request, { maxToolCalls: limit });
    expect(runs).toHaveLength(ran);
    expect(events).toMatchObject(reached("max-tool-calls"));
  });

  it("gives a result to each call of the batch that it does not run", async () => {
    const { messages } = await run(rounds(1, "fast", "fast", "fast"), { maxToolCalls: 2 });
    expect(script(messages).slice(2, 5)).toEqual(
      Array(3).fill("tool! Not run: the limit of tool calls for one turn is reached."),
    );
  });

  it("begins anew with each turn of a thread", async () => {
    const { send, runs } = thread({ maxToolCalls: 1 });
    for (const label of ["a", "b"]) await send(`call fast {"label": "${label}"}`);
    expect(runs).toEqual(["fast:a", "fast:b"]);
  });
});

describe("maxConsecutiveErrors", () => {
  it.each([1, 2, 3])("%i rounds of failures are followed by a text", async (limit) => {
    const { runs, events } = await run(rounds(6, "failing"), { maxConsecutiveErrors: limit });
    expect(runs).toHaveLength(limit);
    expect(events).toMatchObject(reached("max-consecutive-errors"));
  });

  it("is 3 by default", async () => {
    expect((await run(rounds(6, "failing"))).runs).toHaveLength(3);
  });

  it("does not count a round in which one call succeeded", async () => {
    const { runs, events } = await run(rounds(4, "failing", "fast"), { maxConsecutiveErrors: 2 });
    expect(runs).toHaveLength(8);
    expect(events).toEqual([]);
  });

  it("counts from the start again after a success", async () => {
    const twice = `${rounds(1, "failing")}, then ${rounds(1, "fast")}`;
    const { runs, events } = await run(`${twice}, then ${twice}`, { maxConsecutiveErrors: 2 });
    expect(runs).toHaveLength(4);
    expect(events).toEqual([]);
  });
});

describe("the recursion limit", () => {
  it.each([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])(
    "of %i ends a task of many rounds with a text, and every call answered",
    async (recursionLimit) => {
      const { events, runs } = await run(rounds(20, "fast", "failing"), {}, { recursionLimit });
      expect(events).toMatchObject(reached("recursion-limit"));
      // Superstep by superstep: the model, its tools, the model, …, and one is LangGraph's own.
      expect(runs).toHaveLength(2 * Math.max(0, Math.floor((recursionLimit - 2) / 2)));
    },
  );

  const brokenThread = async () => {
    const { graph, send } = thread();
    const messages = [{ role: "user", content: "x" }, calls(["fast"])];
    await graph.updateState(inThread("1"), { messages });
    return send;
  };

  it.each([3, 4, 5, 6])("of %i also limits a turn that begins with a repair", async (recursionLimit) => {
    const send = await brokenThread();
    await send(rounds(20, "fast"), { recursionLimit });
  });

  it("of 2 leaves no room for a repair and an answer, and the next run goes on", async () => {
    const send = await brokenThread();
    await expect(send("hello", { recursionLimit: 2 })).rejects.toThrow("Recursion limit of 2 reached");
    await send("hello again");
  });

  it("counts from the beginning of the run, not of the thread", async () => {
    const { send } = thread();
    for (let turn = 1; turn <= 5; turn += 1) {
      const { messages } = await send(rounds(2, "fast"), { recursionLimit: 8 });
      expect(messages).toHaveLength(6 * turn);
    }
  });
});
