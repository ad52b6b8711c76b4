import { DynamicStructuredTool } from "@langchain/core/tools";
import type { JSONSchema } from "@langchain/core/utils/json_schema";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { type ApprovalRequest, createAgentGraph } from "../../../src/index.js";
import {
  ApprovalThread,
  approvalThread,
  approve,
  edit,
  questionsOf,
  reject,
} from "../../support/approval-graph.js";
import { calls, scripted } from "../../support/scripted-model.js";

const batch = () => [
  calls(["free", { label: "1" }], ["risky", { label: "2" }], ["risky", { label: "3" }]),
  "end",
];

/** The same question, with what was wrong with its answer where chat UIs show it, and in a field of its own. */
function askedAgain(first: ApprovalRequest | undefined, problem: string) {
  const requests = first?.action_requests.map((request) => ({
    ...request,
    description: expect.stringMatching(
      /^The assistant wants to call `risky`\.\n\nThe last decision was not used: /,
    ),
  }));
  return {
    ...first,
    action_requests: requests,
    actionRequests: requests,
    problem: expect.stringContaining(problem),
  };
}

describe("an invalid decision is refused as a whole, and the question is repeated:", () => {
  const cases: readonly (readonly [given: unknown, problem: string])[] = [
    [null, "null. Expected"],
    ["approve", "`resume`"],
    [false, "`resume`"],
    [0, "`resume`"],
    [[], "`resume`"],
    [[{ type: "accept", args: null }], "`resume`"],
    [{}, "{}. Expected"],
    [{ decisions: {} }, "`decisions`"],
    [{ decisions: [] }, "`decisions`"],
    [{ decisions: [approve, approve, approve] }, "3 decisions for 2 requests"],
    [{ decisions: [approve, { type: "maybe" }] }, "`decisions.1.type`"],
    [{ decisions: [approve, edit({ label: "x" }, "free")] }, "`decisions.1.edited_action.name` is `free`"],
    [{ decisions: [approve, edit({ label: 3 })] }, "`decisions.1.edited_action.args.label`"],
    [{ decisions: [edit({ label: "x" }), edit({})] }, "`decisions.1.edited_action.args.label`"],
    [{ decisions: [{ ...approve, name: "risky" }] }, '`decisions.0`: Unrecognized key: "name"'],
    [
      { decisions: [approve], lg_name: "Command", goto: "tools" },
      '`resume`: Unrecognized keys: "lg_name", "goto"',
    ],
    [{ lg_name: "Command", goto: ["tools"], resume: { decisions: [approve] } }, "`decisions`"],
    [
      { decisions: [JSON.parse('{"type":"approve","__proto__":{"x":1}}')] },
      '`decisions.0`: Unrecognized key: "__proto__"',
    ],
    [JSON.parse('{"__proto__":{"decisions":[{"type":"approve"}]}}'), "`decisions`"],
  ];

  it.each(cases)("%j", async (given, problem) => {
    const thread = approvalThread(batch());
    const [first] = questionsOf(await thread.say("go"));
    const asked = questionsOf(await thread.resume(given));
    expect(asked).toEqual([askedAgain(first, problem)]);
    expect(thread.runs).toEqual(["free:1"]);
    expect(await thread.script()).toEqual(["ai> free risky risky", "tool: free did 1"]);

    const again = questionsOf(await thread.resume("still not"));
    expect(again).toEqual([askedAgain(first, "received string")]);
    await thread.decide(approve, reject());
    expect(thread.runs).toEqual(["free:1", "risky:2"]);
    expect((await thread.pairedScript()).at(-1)).toBe("ai: end");
  });

  it("does not change prototypes, not even through edited arguments", async () => {
    const thread = approvalThread([calls(["risky", { label: "1" }]), "end"]);
    await thread.say("go");
    await thread.decide(edit(JSON.parse('{"label":"x","__proto__":{"polluted":true},"constructor":{}}')));
    expect(Reflect.get({}, "polluted")).toBeUndefined();
    expect(thread.runs).toEqual(["risky:x"]);
    await thread.pairedScript();
  });

  it("counts the decisions on the remaining calls, not on the whole batch", async () => {
    const thread = approvalThread(batch());
    await thread.say("go");
    await thread.decide(approve);
    const [rest] = questionsOf(await thread.decide(approve, approve));
    expect(rest?.problem).toContain("2 decisions for 1 requests");
    expect(thread.runs).toEqual(["free:1", "risky:2"]);
    await thread.decide(reject());
    await thread.pairedScript();
  });
});

describe("edited arguments of a tool with a JSON schema", () => {
  const schema: JSONSchema = {
    type: "object",
    properties: {
      city: { type: "string" },
      days: { type: "object", properties: { from: { type: "number" } } },
    },
    required: ["city"],
  };

  it.each([
    [{}, '`decisions.0.edited_action.args`: Instance does not have required property "city".'],
    [
      { city: 3 },
      '`decisions.0.edited_action.args.city`: Instance type "number" is invalid. Expected "string".',
    ],
    [
      { city: "Rome", days: { from: "x" } },
      '`decisions.0.edited_action.args.days.from`: Instance type "string" is invalid. Expected "number".',
    ],
  ])("%j are refused", async (args, problem) => {
    const seen: unknown[] = [];
    const book = new DynamicStructuredTool({
      name: "book",
      description: "book",
      schema,
      func: async (given: unknown) => {
        seen.push(given);
        return "booked";
      },
    });
    const graph = createAgentGraph({
      model: scripted(calls(["book", { city: "Paris" }]), "end"),
      tools: [book],
      requireApproval: ["book"],
      checkpointer: new MemorySaver(),
    });
    const thread = new ApprovalThread(graph, []);
    await thread.say("go");
    const [question] = questionsOf(await thread.decide(edit(args, "book")));
    expect(question?.problem).toContain(problem);
    expect(seen).toEqual([]);
    await thread.decide(edit({ city: "Rome" }, "book"));
    expect(seen).toEqual([{ city: "Rome" }]);
    await thread.pairedScript();
  });
});
