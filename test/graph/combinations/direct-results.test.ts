/** Tools with `returnDirect`, and agents inside a parent graph, together with what else an agent can have. */

import { tool } from "@langchain/core/tools";
import {
  Command,
  END,
  InMemoryStore,
  MemorySaver,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type ApprovalOptions,
  createAgentGraph,
  PairedMessagesValue,
  toolStrategy,
} from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { lines } from "../../support/lines.js";
import { afterNext, insteadOfNext } from "../../support/middleware.js";
import { calls, FunctionModel, type WantedCall } from "../../support/models.js";
import type { Step } from "../../support/scripted-model.js";
import { inThread, pairedScript, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const City = z.object({ name: z.string() }).meta({ title: "City" });
const OSLO = { name: "Oslo" };
const RIGHT = `tool: Returning structured response: ${JSON.stringify(OSLO)}`;
const responseFormat = toolStrategy(City);

const FAILED = "tool! Error: `direct` failed.";

const made = (name: string, returnDirect: boolean) =>
  tool(
    ({ fails }) => {
      if (fails) throw new Error("no");
      return `${name} done`;
    },
    { name, schema: z.object({ fails: z.boolean().optional() }), returnDirect },
  );
const tools = [made("direct", true), made("also", true), made("plain", false)];

describe("a tool with `returnDirect`", () => {
  const fails = { fails: true };
  it.each<[title: string, batch: WantedCall[], more: Step[], lines: string[]]>([
    ["ends the run with its result", [["direct"]], [], ["tool: direct done"]],
    [
      "ends it with several results, if all calls of the batch are of such tools",
      [["direct"], ["also"]],
      [],
      ["tool: direct done", "tool: also done"],
    ],
    [
      "does not end it if another tool was called before it",
      [["plain"], ["direct"]],
      ["done"],
      ["tool: plain done", "tool: direct done", "ai: done"],
    ],
    ["does not end it if it fails", [["direct", fails]], ["sorry"], [FAILED, "ai: sorry"]],
    [
      "does not end it if it fails in a batch",
      [["direct", fails], ["also"]],
      ["sorry"],
      [FAILED, "tool: also done", "ai: sorry"],
    ],
    [
      "does not end it if its arguments are bad",
      [["direct", { fails: "yes" }]],
      ["sorry"],
      [expect.stringMatching(/^tool! Error: the arguments/), "ai: sorry"],
    ],
  ])("%s", async (_title, batch, more, lines) => {
    expect((await agentThread([calls(...batch), ...more], { tools }).run()).slice(2)).toEqual(lines);
  });

  it("counts only the latest batch, and the next run goes on from there", async () => {
    const steps = [calls(["direct"], ["plain"]), calls(["also"]), "next"];
    const { send, run } = agentThread(steps, { tools });
    expect((await send("hi")).events).toMatchObject([{ type: "run-end", calls: 3, results: 3 }]);
    expect((await run("more")).slice(-3)).toEqual(["tool: also done", "human: more", "ai: next"]);
  });

  it("ends a run with a format without a structured response, and says so", async () => {
    const { events } = await agentThread([calls(["direct"])], { tools, responseFormat }).send("go");
    expect(events).toContainEqual(
      expect.objectContaining({ type: "structured-response-missing", reason: "ended" }),
    );
    expect(events.at(-1)?.type).toBe("run-end");
  });

  it("beside a structured response is followed by another request", async () => {
    const steps = [calls(["direct"], ["City", OSLO]), calls(["City", OSLO])];
    const lines = await agentThread(steps, { tools, responseFormat }).run();
    const refused = expect.stringMatching(/^tool! .*not taken/);
    expect(lines.slice(2)).toEqual(["tool: direct done", refused, "ai> City", RIGHT]);
  });

  it.each<[decision: object, steps: Step[], lines: string[]]>([
    [{ type: "approve" }, [], ["tool: direct done"]],
    [{ type: "reject" }, ["done"], [expect.stringMatching(/^tool!/), "ai: done"]],
    [{ type: "respond", message: "by hand" }, [], ["tool: by hand"]],
  ])("of two calls waits for the one that has the decision %j", async (decision, more, lines) => {
    const steps = [calls(["direct", {}, "a"], ["direct", {}, "b"]), ...more];
    const when: ApprovalOptions["when"] = ({ toolCall }) => toolCall.id === "b";
    const { invoke, run } = agentThread(steps, { tools, requireApproval: { direct: { when } } });
    await invoke();
    const decided = await run(new Command({ resume: { decisions: [decision] } }));
    expect(decided.slice(2)).toEqual(["tool: direct done", ...lines]);
  });

  it("counts if a function middleware answers the call", async () => {
    const serve = insteadOfNext("function", (context) => {
      context.result = "served";
      context.update({ note: "x" });
    });
    const stateSchema = z.object({ note: z.string().optional() });
    const options = { tools, middleware: [serve], stateSchema } as object;
    const { invoke, lines } = agentThread([calls(["direct"])], options);
    expect(await invoke()).toMatchObject({ note: "x" });
    expect((await lines()).at(-1)).toBe("tool: served");
  });
});

it("An agent inside a parent graph does all of it: fallback, format, own keys, context, approval and steering.", async () => {
  const { fast } = createProbe();
  const seen: unknown[] = [];
  const model = new FunctionModel(() => Object.assign(new Error("down"), { status: 503 }));
  const second = new FunctionModel(async ({ index }) => {
    if (index === 0) return calls(["fast"], ["plan"]);
    if (index === 1) await agent.steer("p", "And Rome?");
    return calls(["City", OSLO]);
  });
  const plan = makeTool("plan", async () => new Command({ update: { plan: "a walk" } }));
  const store = new InMemoryStore();
  const agent = createAgentGraph({
    model,
    fallbackModels: [second],
    tools: [fast, plan],
    responseFormat: City,
    requireApproval: { fast: { allowedDecisions: ["approve"] } },
    stateSchema: z.object({ plan: z.string().optional(), log: z.string().optional() }),
    contextSchema: z.object({ userId: z.string() }),
    middleware: [
      afterNext("chat", (context) => {
        seen.push(context.context["userId"]);
        context.update({ log: "noted" });
      }),
    ],
    store,
  });
  const state = new StateSchema({
    messages: PairedMessagesValue,
    plan: z.string().optional(),
    log: z.string().optional(),
    structuredResponse: z.unknown().optional(),
  });
  const parent = new StateGraph(state, { context: z.object({ userId: z.string() }) } as never)
    .addNode("agent", agent as never)
    .addEdge(START, "agent" as never)
    .addEdge("agent" as never, END)
    .compile({ checkpointer: new MemorySaver(), store });
  const config = { ...inThread("p"), context: { userId: "ada" } } as object;
  const waiting = await parent.invoke(user("go") as never, config);
  const [{ id = "" } = {}] = Reflect.get(waiting, "__interrupt__") as { id?: string }[];
  const resume = { [id]: { decisions: [{ type: "approve" }] } };
  const result = await parent.invoke(new Command({ resume }) as never, config);
  expect(result).toMatchObject({ plan: "a walk", log: "noted", structuredResponse: OSLO });
  expect(new Set(seen)).toEqual(new Set(["ada"]));
  expect(pairedScript(result)).toEqual(
    lines(
      "human: go | ai> fast plan | tool: fast done - | tool: (no output) | ai> City",
      RIGHT,
      "human: And Rome? | ai> City",
      RIGHT,
    ),
  );
  expect(second.refused).toEqual([]);
  // The switch lasts until the turn ends.
  expect(model.requests).toHaveLength(2);
});
