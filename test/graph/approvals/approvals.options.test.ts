/** `requireApproval` with options for each tool, as LangChain's `interruptOn` has them. */

import type { HITLRequest, InterruptOnConfig } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentGraphOptions, type ApprovalOptions, InvalidSettingError } from "../../../src/index.js";
import {
  approvalThread,
  approve,
  askedLabels,
  edit,
  questionsOf,
  reject,
  respond,
} from "../../support/approval-graph.js";
import { calls, type WantedCall } from "../../support/models.js";
import { rowsOf } from "../../support/test-tools.js";

const risky = (label: string) => ["risky", { label }] as const;
const free = (label: string) => ["free", { label }] as const;
type RequireApproval = NonNullable<AgentGraphOptions["requireApproval"]>;

const threadWith = (requireApproval: RequireApproval, ...batch: readonly WantedCall[]) =>
  approvalThread([calls(...batch), "the end"], { requireApproval });
const riskyWith = (options: ApprovalOptions, ...labels: readonly string[]) =>
  threadWith({ risky: options }, ...labels.map(risky));
const descriptionsIn = (values: unknown) =>
  questionsOf(values)[0]?.action_requests.map(({ description }) => description);

it("An object of tools asks about tools with true or options, and about no others", async () => {
  const thread = threadWith({ risky: true, free: false }, risky("1"), free("2"));
  const halted = await thread.say("go");
  expect(askedLabels(halted)).toEqual(["1"]);
  const allowed_decisions = ["approve", "edit", "reject", "respond"];
  expect(questionsOf(halted)[0]?.review_configs).toMatchObject([{ allowed_decisions }]);
  expect(thread.runs).toEqual(["free:2"]);
  await thread.decide(approve);
  expect(thread.runs).toEqual(["free:2", "risky:1"]);
  await thread.pairedScript();
});

describe("allowedDecisions", () => {
  it("are shown, and no other decision is taken", async () => {
    const allowed = ["approve", "reject"] as const;
    const thread = riskyWith({ allowedDecisions: allowed }, "1", "2");
    const [first] = questionsOf(await thread.say("go"));
    expect(first?.reviewConfigs.map(({ allowedDecisions }) => allowedDecisions)).toEqual([allowed, allowed]);
    for (const wrong of [edit({ label: "x" }), respond("done")]) {
      const [again] = questionsOf(await thread.decide(approve, wrong));
      expect(again?.problem).toBe(
        `\`decisions.1.type\` is \`${wrong.type}\`, but \`risky\` allows only \`approve\` or \`reject\`. Expected { decisions: [...] }, at most one for each request, in the order of the requests: { type: "approve" } or { type: "reject", message? }.`,
      );
      expect(again?.action_requests).toHaveLength(2);
      expect(thread.runs).toEqual([]);
    }
    await thread.decide(approve, reject());
    expect(thread.runs).toEqual(["risky:1"]);
    await thread.pairedScript();
  });

  it("are those of each call of a batch", async () => {
    const allowed = {
      risky: { allowedDecisions: ["respond"] },
      free: { allowedDecisions: ["approve"] },
    } as const;
    const thread = threadWith(allowed, risky("1"), free("2"));
    await thread.say("go");
    const [again] = questionsOf(await thread.decide(approve, respond("no")));
    expect(again?.problem).toContain("`decisions.0.type` is `approve`, but `risky` allows only `respond`. ");
    await thread.decide(respond("known"), approve);
    expect(thread.runs).toEqual(["free:2"]);
    const lines = ["tool: known", "tool: free did 2", "ai: the end"];
    expect((await thread.pairedScript()).slice(1)).toEqual(lines);
  });
});

describe("description", () => {
  it("is what the human reads", async () => {
    const thread = riskyWith({ description: "Take the risk?" }, "1");
    expect(descriptionsIn(await thread.say("go"))).toEqual(["Take the risk?"]);
    const [again] = questionsOf(await thread.resume("yes"));
    const told = /^Take the risk\?\n\nThe last decision was not used: /;
    expect(again?.actionRequests[0]?.description).toMatch(told);
    await thread.decide(approve);
    await thread.pairedScript();
  });

  it("can be a function of the call, the state and the run, which is asked once", async () => {
    const seen: unknown[] = [];
    const description: ApprovalOptions["description"] = async (toolCall, { messages }, runtime) => {
      const { context, configurable, writer } = runtime;
      const said = messages.findLast(({ type }) => type === "human")?.text;
      const internal = Object.keys(configurable ?? {}).filter((name) => name.startsWith("_"));
      seen.push([toolCall.type, messages.at(-1)?.type, context, internal, typeof writer]);
      return `${toolCall.name} ${toolCall.args["label"]} in ${configurable?.thread_id} after "${said}"`;
    };
    const thread = riskyWith({ description }, "1", "2");
    const [first, second] = ['risky 1 in 1 after "go"', 'risky 2 in 1 after "go"'];
    const asked = await thread.say("go", { context: { maxIterations: 3 } });
    expect(descriptionsIn(asked)).toEqual([first, second]);
    const each = ["tool_call", "ai", { maxIterations: 3 }, [], "function"];
    expect(seen).toEqual([each, each]);
    expect(descriptionsIn(await thread.decide(approve))).toEqual([second]);
    await thread.decide(approve);
    expect(seen).toHaveLength(2);
    await thread.pairedScript();
  });

  it("stays the same when the question is asked again by another run", async () => {
    const thread = riskyWith({ description: ({ args }) => `Risk ${args["label"]}?` }, "1");
    await thread.say("go");
    await thread.resume("not a decision");
    // Input without a message of the user asks the question in a new run.
    const again = await thread.run({ messages: [] });
    expect(questionsOf(again)[0]?.problem).toBeUndefined();
    expect(descriptionsIn(again)).toEqual(["Risk 1?"]);
    await thread.decide(approve);
    expect(thread.runs).toEqual(["risky:1"]);
    await thread.pairedScript();
  });

  it.each([
    ["throws", () => Promise.reject(new Error("no words")), "no words"],
    ["returns no text", () => 7 as unknown as string, "`requireApproval.risky.description`"],
  ])("ends the run before a tool is called if it %s", async (_what, description, problem) => {
    const thread = threadWith({ risky: { description } }, free("1"), risky("2"));
    await expect(thread.say("go")).rejects.toThrow(problem);
    expect(thread.runs).toEqual([]);
    await thread.say("again");
    expect(await thread.pairedScript()).toEqual(["human: again", "ai: the end"]);
  });
});

it("`when` decides for each call, as LangChain's does", async () => {
  const seen: unknown[] = [];
  const when: ApprovalOptions["when"] = async ({ toolCall, tool, state, runtime }) => {
    seen.push([toolCall.name, tool, state.messages.length, runtime.configurable?.thread_id]);
    toolCall.args["label"] = `${toolCall.args["label"]}!`;
    return toolCall.args["label"] === "large!";
  };
  const thread = riskyWith({ when }, "small", "large");
  expect(askedLabels(await thread.say("go"))).toEqual(["large"]);
  expect(seen).toEqual(Array(2).fill(["risky", undefined, 2, "1"]));
  expect(thread.runs).toEqual(["risky:small"]);
  await thread.decide(approve);
  expect(thread.runs).toEqual(["risky:small", "risky:large"]);
  await thread.pairedScript();
});

describe("argsSchema", () => {
  const jsonSchema = { type: "object", properties: { label: { type: "string", maxLength: 3 } } };

  it.each([
    ["a JSON schema", jsonSchema],
    ["zod", z.object({ label: z.string().max(3) })],
  ])("as %s checks edited arguments", async (_what, argsSchema) => {
    const thread = riskyWith({ allowedDecisions: ["edit", "approve"], argsSchema }, "first", "2");
    const [first] = questionsOf(await thread.say("go"));
    expect(first?.reviewConfigs[0]?.argsSchema).toMatchObject(jsonSchema);
    expect(first?.reviewConfigs[0]?.argsSchema).toMatchObject(jsonSchema);
    const [again] = questionsOf(await thread.decide(approve, edit({ label: "long" })));
    expect(again?.problem).toContain("`decisions.1.edited_action.args.label`: ");
    expect(thread.runs).toEqual([]);
    // What the model wrote is the tool's to check.
    await thread.decide(approve, edit({ label: "ok" }));
    expect(thread.runs.toSorted()).toEqual(["risky:first", "risky:ok"]);
    await thread.pairedScript();
  });

  it("does not replace the schema of the tool", async () => {
    const thread = riskyWith({ argsSchema: { type: "object" } }, "1");
    await thread.say("go");
    const [again] = questionsOf(await thread.decide(edit({ label: 3 })));
    expect(again?.problem).toContain("`decisions.0.edited_action.args.label`");
    await thread.decide(approve);
    await thread.pairedScript();
  });
});

it("What is written for LangChain configures the agent, reads its request and decides", async () => {
  const interruptOn: Record<string, boolean | InterruptOnConfig> = {
    risky: {
      allowedDecisions: ["approve", "edit", "reject"],
      description: (toolCall, state) => `${toolCall.name} of ${state.messages.length} messages`,
      when: ({ toolCall }) => toolCall.args["label"] !== "small",
      argsSchema: { type: "object" },
    },
    free: true,
  };
  const thread = threadWith(interruptOn, risky("small"), risky("1"), free("2"), free("3"));
  const [question] = questionsOf(await thread.say("go"));
  const { actionRequests, reviewConfigs } = question as unknown as HITLRequest;
  expect(actionRequests.map(({ name, description }) => [name, description])).toEqual([
    ["risky", "risky of 2 messages"],
    ["free", "The assistant wants to call `free`."],
    ["free", "The assistant wants to call `free`."],
  ]);
  expect(reviewConfigs.map(({ actionName }) => actionName)).toEqual(["risky", "free", "free"]);
  const edited = { type: "edit", editedAction: { name: "risky", args: { label: "one" } } };
  await thread.decide(edited, reject("no"), approve);
  expect(thread.runs).toEqual(["risky:small", "risky:one", "free:3"]);
  expect((await thread.script()).filter((line) => line.startsWith("tool"))).toHaveLength(4);
});

const RULE = "Expected `requireApproval.risky` to be true, false or an object";
const LIST = "Expected `requireApproval` to be a list of tool names";
const OPTION = "`requireApproval.risky.";
const noSchema = z.object({ label: z.custom(() => true) }).transform(() => 1);

const REFUSED = rowsOf<[given: unknown, problem: string]>({
  "an unknown tool": [
    { risk: true },
    'names of tools (free, risky, ask), got `"risk"`. Did you mean `risky`?',
  ],
  "an unknown tool that needs none": [{ other: false }, 'got `"other"`'],
  "no rule": [{ risky: "yes" }, RULE],
  nothing: [{ risky: null }, RULE],
  "an unknown option": [
    { risky: { allowed_decisions: ["approve"] } },
    `Unknown option ${OPTION}allowed_decisions\`. Did you mean \`allowedDecisions\`?`,
  ],
  "an option of an object's prototype": [
    { risky: { constructor: 1 } },
    `Unknown option ${OPTION}constructor\`.`,
  ],
  "an unknown decision": [
    { risky: { allowedDecisions: ["approve", "accept"] } },
    `Expected ${OPTION}allowedDecisions\` to be a list with one or more of approve, edit, reject and respond, got \`["approve","accept"]\`.`,
  ],
  "no decision": [{ risky: { allowedDecisions: [] } }, "got `[]`"],
  "a description": [{ risky: { description: 7 } }, `${OPTION}description\``],
  "a schema": [{ risky: { argsSchema: "label" } }, `${OPTION}argsSchema\``],
  "a schema that is no JSON schema": [
    { risky: { argsSchema: noSchema } },
    `Expected ${OPTION}argsSchema\` to be a schema that can be written as a JSON schema`,
  ],
  "a predicate": [{ risky: { when: true } }, `${OPTION}when\``],
  "a Map": [new Map([["risky", true]]), LIST],
  "a name": ["risky", LIST],
});

it.each(REFUSED)("A configuration is refused that names %s", (_what, given, problem) => {
  const build = () => approvalThread([], { requireApproval: given as RequireApproval });
  expect(build).toThrow(InvalidSettingError);
  expect(build).toThrow(problem);
});
