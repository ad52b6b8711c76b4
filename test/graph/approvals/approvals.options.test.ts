/** `requireApproval` with options for each tool, as LangChain's `interruptOn` has them. */

import { type HITLRequest, type InterruptOnConfig, ToolMessage } from "langchain";
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
import { calls } from "../../support/scripted-model.js";

const risky = (label: string) => ["risky", { label }] as const;
const free = (label: string) => ["free", { label }] as const;

function threadWith(options: ApprovalOptions, ...labels: readonly string[]) {
  const batch = calls(...labels.map(risky));
  return approvalThread([batch, "the end"], { requireApproval: { risky: options } });
}

describe("an object of tools", () => {
  it("asks about tools with true or options, and about no others", async () => {
    const requireApproval = { risky: true, free: false };
    const thread = approvalThread([calls(risky("1"), free("2")), "the end"], { requireApproval });
    const halted = await thread.say("go");
    expect(askedLabels(halted)).toEqual(["1"]);
    expect(questionsOf(halted)[0]?.review_configs).toMatchObject([
      { allowed_decisions: ["approve", "edit", "reject", "respond"] },
    ]);
    expect(thread.runs).toEqual(["free:2"]);
    await thread.decide(approve);
    expect(thread.runs).toEqual(["free:2", "risky:1"]);
    await thread.pairedScript();
  });
});

describe("allowedDecisions", () => {
  it("are shown, and no other decision is taken", async () => {
    const thread = threadWith({ allowedDecisions: ["approve", "reject"] }, "1", "2");
    const [first] = questionsOf(await thread.say("go"));
    expect(first?.reviewConfigs.map(({ allowedDecisions }) => allowedDecisions)).toEqual([
      ["approve", "reject"],
      ["approve", "reject"],
    ]);
    for (const [wrong, type] of [
      [edit({ label: "x" }), "edit"],
      [respond("done"), "respond"],
    ]) {
      const [again] = questionsOf(await thread.decide(approve, wrong));
      expect(again?.problem).toBe(
        `\`decisions.1.type\` is \`${type}\`, but \`risky\` allows only \`approve\` or \`reject\`. Expected { decisions: [...] }, at most one for each request, in the order of the requests: { type: "approve" } or { type: "reject", message? }.`,
      );
      expect(again?.action_requests).toHaveLength(2);
      expect(thread.runs).toEqual([]);
    }
    await thread.decide(approve, reject());
    expect(thread.runs).toEqual(["risky:1"]);
    await thread.pairedScript();
  });

  it("are those of each call of a batch", async () => {
    const thread = approvalThread([calls(risky("1"), free("2")), "the end"], {
      requireApproval: { risky: { allowedDecisions: ["respond"] }, free: { allowedDecisions: ["approve"] } },
    });
    await thread.say("go");
    const [again] = questionsOf(await thread.decide(approve, respond("no")));
    expect(again?.problem).toContain("`decisions.0.type` is `approve`, but `risky` allows only `respond`. ");
    await thread.decide(respond("known"), approve);
    expect(thread.runs).toEqual(["free:2"]);
    expect((await thread.pairedScript()).slice(1)).toEqual([
      "tool: known",
      "tool: free did 2",
      "ai: the end",
    ]);
  });
});

describe("description", () => {
  it("is what the human reads", async () => {
    const thread = threadWith({ description: "Take the risk?" }, "1");
    const [first] = questionsOf(await thread.say("go"));
    expect(first?.action_requests.map(({ description }) => description)).toEqual(["Take the risk?"]);
    const [again] = questionsOf(await thread.resume("yes"));
    expect(again?.actionRequests[0]?.description).toMatch(
      /^Take the risk\?\n\nThe last decision was not used: /,
    );
    await thread.decide(approve);
    await thread.pairedScript();
  });

  it("can be a function of the call, the state and the run, which is asked once", async () => {
    const seen: unknown[] = [];
    const thread = threadWith(
      {
        description: async (toolCall, { messages }, { context, configurable, signal, ...runtime }) => {
          const said = messages.findLast(({ type }) => type === "human")?.text;
          seen.push([
            toolCall.type,
            messages.at(-1)?.type,
            context,
            Object.keys(configurable ?? {}).filter((name) => name.startsWith("_")),
            typeof runtime.writer,
          ]);
          return `${toolCall.name} ${toolCall.args["label"]} in ${configurable?.thread_id} after "${said}"`;
        },
      },
      "1",
      "2",
    );
    const [first] = questionsOf(await thread.say("go", { context: { maxIterations: 3 } }));
    expect(first?.action_requests.map(({ description }) => description)).toEqual([
      'risky 1 in 1 after "go"',
      'risky 2 in 1 after "go"',
    ]);
    const each = ["tool_call", "ai", { maxIterations: 3 }, [], "function"];
    expect(seen).toEqual([each, each]);
    const [rest] = questionsOf(await thread.decide(approve));
    expect(rest?.action_requests.map(({ description }) => description)).toEqual(['risky 2 in 1 after "go"']);
    await thread.decide(approve);
    expect(seen).toHaveLength(2);
    await thread.pairedScript();
  });

  it("stays the same when the question is asked again by another run", async () => {
    const thread = threadWith({ description: ({ args }) => `Risk ${args["label"]}?` }, "1");
    await thread.say("go");
    await thread.resume("not a decision");
    // Input without a message of the user asks the question in a new run.
    const [again] = questionsOf(await thread.run({ messages: [] }));
    expect(again?.problem).toBeUndefined();
    expect(again?.action_requests.map(({ description }) => description)).toEqual(["Risk 1?"]);
    await thread.decide(approve);
    expect(thread.runs).toEqual(["risky:1"]);
    await thread.pairedScript();
  });

  it.each([
    ["throws", () => Promise.reject(new Error("no words")), "no words"],
    ["returns no text", () => 7 as unknown as string, "`requireApproval.risky.description`"],
  ])("ends the run before a tool is called if it %s", async (_what, description, problem) => {
    const batch = calls(free("1"), risky("2"));
    const thread = approvalThread([batch, "the end"], { requireApproval: { risky: { description } } });
    await expect(thread.say("go")).rejects.toThrow(problem);
    expect(thread.runs).toEqual([]);
    await thread.say("again");
    expect(await thread.pairedScript()).toEqual(["human: again", "ai: the end"]);
  });
});

describe("when", () => {
  it("decides for each call, as LangChain's does", async () => {
    const seen: unknown[] = [];
    const thread = threadWith(
      {
        when: async ({ toolCall, tool, state, runtime }) => {
          seen.push([toolCall.name, tool, state.messages.length, runtime.configurable?.thread_id]);
          toolCall.args["label"] = `${toolCall.args["label"]}!`;
          return toolCall.args["label"] === "large!";
        },
      },
      "small",
      "large",
    );
    expect(askedLabels(await thread.say("go"))).toEqual(["large"]);
    expect(seen).toEqual([
      ["risky", undefined, 2, "1"],
      ["risky", undefined, 2, "1"],
    ]);
    expect(thread.runs).toEqual(["risky:small"]);
    await thread.decide(approve);
    expect(thread.runs).toEqual(["risky:small", "risky:large"]);
    await thread.pairedScript();
  });
});

describe("argsSchema", () => {
  const jsonSchema = { type: "object", properties: { label: { type: "string", maxLength: 3 } } };
  const schemas = [
    ["a JSON schema", jsonSchema],
    ["zod", z.object({ label: z.string().max(3) })],
  ] as const;

  it.each(schemas)("as %s checks edited arguments", async (_what, argsSchema) => {
    const thread = threadWith({ allowedDecisions: ["edit", "approve"], argsSchema }, "first", "2");
    const [first] = questionsOf(await thread.say("go"));
    expect(first?.review_configs[0]?.args_schema).toMatchObject(jsonSchema);
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
    const thread = threadWith({ argsSchema: { type: "object" } }, "1");
    await thread.say("go");
    const [again] = questionsOf(await thread.decide(edit({ label: 3 })));
    expect(again?.problem).toContain("`decisions.0.edited_action.args.label`");
    await thread.decide(approve);
    await thread.pairedScript();
  });
});

describe("what is written for LangChain", () => {
  it("configures the agent, reads its request and decides", async () => {
    const interruptOn: Record<string, boolean | InterruptOnConfig> = {
      risky: {
        allowedDecisions: ["approve", "edit", "reject"],
        description: (toolCall, state) => `${toolCall.name} of ${state.messages.length} messages`,
        when: ({ toolCall }) => toolCall.args["label"] !== "small",
        argsSchema: { type: "object" },
      },
      free: true,
    };
    const batch = calls(risky("small"), risky("1"), free("2"), free("3"));
    const thread = approvalThread([batch, "the end"], { requireApproval: interruptOn });
    const [question] = questionsOf(await thread.say("go"));
    const { actionRequests, reviewConfigs } = question as unknown as HITLRequest;
    expect(actionRequests.map(({ name, description }) => [name, description])).toEqual([
      ["risky", "risky of 2 messages"],
      ["free", "The assistant wants to call `free`."],
      ["free", "The assistant wants to call `free`."],
    ]);
    expect(reviewConfigs.map(({ actionName }) => actionName)).toEqual(["risky", "free", "free"]);
    await thread.decide(
      { type: "edit", editedAction: { name: "risky", args: { label: "one" } } },
      { type: "reject", message: "no" },
      { type: "approve" },
    );
    expect(thread.runs).toEqual(["risky:small", "risky:one", "free:3"]);
    const results = (await thread.messages()).filter((message) => ToolMessage.isInstance(message));
    expect(results).toHaveLength(4);
  });
});

describe("a configuration is refused that names", () => {
  const refused: readonly (readonly [what: string, given: unknown, problem: string])[] = [
    [
      "an unknown tool",
      { risk: true },
      'names of tools (free, risky, ask), got `"risk"`. Did you mean `risky`?',
    ],
    ["an unknown tool that needs none", { other: false }, 'got `"other"`'],
    ["no rule", { risky: "yes" }, "Expected `requireApproval.risky` to be true, false or an object"],
    ["nothing", { risky: null }, "Expected `requireApproval.risky` to be true, false or an object"],
    [
      "an unknown option",
      { risky: { allowed_decisions: ["approve"] } },
      "Unknown option `requireApproval.risky.allowed_decisions`. Did you mean `allowedDecisions`?",
    ],
    [
      "an option of an object's prototype",
      { risky: { constructor: 1 } },
      "Unknown option `requireApproval.risky.constructor`.",
    ],
    [
      "an unknown decision",
      { risky: { allowedDecisions: ["approve", "accept"] } },
      'Expected `requireApproval.risky.allowedDecisions` to be a list with one or more of approve, edit, reject and respond, got `["approve","accept"]`.',
    ],
    ["no decision", { risky: { allowedDecisions: [] } }, "got `[]`"],
    ["a description", { risky: { description: 7 } }, "`requireApproval.risky.description`"],
    ["a schema", { risky: { argsSchema: "label" } }, "`requireApproval.risky.argsSchema`"],
    [
      "a schema that is no JSON schema",
      { risky: { argsSchema: z.object({ label: z.custom(() => true) }).transform(() => 1) } },
      "Expected `requireApproval.risky.argsSchema` to be a schema that can be written as a JSON schema",
    ],
    ["a predicate", { risky: { when: true } }, "`requireApproval.risky.when`"],
    ["a Map", new Map([["risky", true]]), "Expected `requireApproval` to be a list of tool names"],
    ["a name", "risky", "Expected `requireApproval` to be a list of tool names"],
  ];

  it.each(refused)("%s", (_what, given, problem) => {
    const requireApproval = given as NonNullable<AgentGraphOptions["requireApproval"]>;
    expect(() => approvalThread([], { requireApproval })).toThrow(InvalidSettingError);
    expect(() => approvalThread([], { requireApproval })).toThrow(problem);
  });
});
