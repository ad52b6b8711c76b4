import { AIMessage } from "@langchain/core/messages";
import { DynamicStructuredTool } from "@langchain/core/tools";
import type { JSONSchema } from "@langchain/core/utils/json_schema";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { type ApprovalRequest, createAgentGraph } from "../../../src/index.js";
import {
  ApprovalThread,
  approvalThread,
  approve,
  asInput,
  askedLabels,
  type Driver,
  edit,
  questionsOf,
  reject,
  respond,
} from "../../support/approval-graph.js";
import { calls, scripted, type WantedCall } from "../../support/scripted-model.js";

const risky = (label: string, id?: string): WantedCall =>
  id === undefined ? ["risky", { label }] : ["risky", { label }, id];

const free = (label: string): WantedCall => ["free", { label }];
const DECLINED = "tool! Error: `risky` was not approved, so it was not run.";

describe.each<Driver>(["invoke", "stream"])("a call that needs approval, in %s,", (driver) => {
  const cases = [
    { what: "runs when it is approved", decision: approve, result: "tool: risky did a", runs: ["risky:a"] },
    {
      what: "runs with other arguments when it is edited",
      decision: edit({ label: "b" }),
      result: "tool: risky did b",
      runs: ["risky:b"],
    },
    { what: "does not run when it is rejected", decision: reject(), result: DECLINED, runs: [] },
    {
      what: "tells the model why it was rejected",
      decision: reject("too dear"),
      result: `${DECLINED} Reason: too dear`,
      runs: [],
    },
    {
      what: "has the human's words as its result",
      decision: respond("it is done already"),
      result: "tool: it is done already",
      runs: [],
    },
  ];

  it.each(cases)("$what", async ({ decision, result, runs }) => {
    const thread = approvalThread([calls(risky("a")), "the end"], {}, driver);
    const halted = await thread.say("go");
    expect(askedLabels(halted)).toEqual(["a"]);
    expect(thread.runs).toEqual([]);
    expect(await thread.script()).toEqual(["ai> risky"]);

    const done = await thread.decide(decision);
    expect(questionsOf(done)).toEqual([]);
    expect(await thread.pairedScript()).toEqual(["ai> risky", result, "ai: the end"]);
    expect(thread.runs).toEqual(runs);
  });

  it("is asked about together with the others of its batch, while free ones run", async () => {
    const batch = calls(free("1"), risky("2"), risky("3"), free("4"), risky("5"), risky("6"));
    const thread = approvalThread([batch, "the end"], {}, driver);
    const halted = await thread.say("go");
    expect(questionsOf(halted)).toHaveLength(1);
    expect(askedLabels(halted)).toEqual(["2", "3", "5", "6"]);
    expect(thread.runs.toSorted()).toEqual(["free:1", "free:4"]);

    await thread.decide(approve, reject("no"), edit({ label: "five" }), respond("six"));
    expect(await thread.pairedScript()).toEqual([
      "ai> free risky risky free risky risky",
      "tool: free did 1",
      "tool: risky did 2",
      `${DECLINED} Reason: no`,
      "tool: free did 4",
      "tool: risky did five",
      "tool: six",
      "ai: the end",
    ]);
    expect(thread.runs.toSorted()).toEqual(["free:1", "free:4", "risky:2", "risky:five"]);
  });
});

describe("approvals", () => {
  it("are told apart where a model gives two calls of a batch one id", async () => {
    const thread = approvalThread([calls(risky("1", "x"), risky("2", "x")), "the end"]);
    const [question] = questionsOf(await thread.say("go"));
    expect(question?.action_requests.map(({ id }) => id)).toEqual(["x", "x_2"]);
    await thread.decide(reject(), approve);
    expect((await thread.pairedScript()).slice(1, 3)).toEqual([DECLINED, "tool: risky did 2"]);
  });

  it("show edited arguments in the history, and leave the rest of the message alone", async () => {
    const message = new AIMessage({
      id: "asking",
      content: [
        { type: "text", text: "I shall." },
        { type: "tool_use", id: "c1", name: "risky", input: { label: "1" } },
        { type: "tool_use", id: "c2", name: "risky", input: { label: "2" } },
      ],
      tool_calls: ["1", "2"].map((label) => ({ id: `c${label}`, name: "risky", args: { label } })),
      additional_kwargs: { reasoning_content: "hm" },
    });
    const thread = approvalThread([message, "the end"]);
    await thread.say("go");
    const [, before] = await thread.messages();
    await thread.decide(approve, edit({ label: "two" }));
    const [, after] = await thread.messages();
    expect(after).toMatchObject({
      id: "asking",
      content: [
        { type: "text", text: "I shall." },
        { type: "tool_use", id: "c1", input: { label: "1" } },
        { type: "tool_use", id: "c2", input: { label: "two" } },
      ],
      tool_calls: [{ args: { label: "1" } }, { args: { label: "two" } }],
    });
    expect(after?.additional_kwargs).toEqual(before?.additional_kwargs);
    expect(thread.runs.toSorted()).toEqual(["risky:1", "risky:two"]);
  });

  it("show on the messages stream what they decide, and the edited message no second time", async () => {
    const thread = approvalThread([calls(risky("1"), risky("2")), "the end"]);
    await thread.say("go");
    const options = { ...thread.config, streamMode: "messages" as const };
    const decisions = [edit({ label: "one" }), reject()];
    const seen: string[] = [];
    const stream = await thread.graph.stream(asInput({ resume: { decisions } }), options);
    for await (const [message] of stream as AsyncIterable<[AIMessage, unknown]>) {
      seen.push(`${message.type}: ${message.text}`);
    }
    expect(seen.filter((line) => line.startsWith("tool"))).toEqual([
      "tool: Error: `risky` was not approved, so it was not run.",
      "tool: risky did one",
    ]);
    expect(
      seen
        .filter((line) => line.startsWith("ai"))
        .map((line) => line.slice(4))
        .join(""),
    ).toBe("the end");
  });

  it("may be required by a predicate on the call, which may be asynchronous", async () => {
    const batch = calls(risky("small"), risky("large"), free("large"));
    const requireApproval = async ({ name, args }: { name: string; args: object }) =>
      name === "risky" && Reflect.get(args, "label") === "large";
    const thread = approvalThread([batch, "the end"], { requireApproval });
    expect(askedLabels(await thread.say("go"))).toEqual(["large"]);
    expect(thread.runs.toSorted()).toEqual(["free:large", "risky:small"]);
    await thread.decide(approve);
    await thread.pairedScript();
  });
});

interface Asked {
  readonly id: string;
  readonly value: unknown;
}

describe("a tool that itself asks a human, beside a call that needs approval", () => {
  async function halted() {
    const thread = approvalThread([calls(["ask"], ["risky", { label: "2" }]), "the end"]);
    const { __interrupt__ } = (await thread.say("go")) as { __interrupt__: Asked[] };
    const own = __interrupt__.find(({ value }) => value === "may I?")?.id ?? "";
    const approval = __interrupt__.find(({ value }) => value !== "may I?")?.id ?? "";
    return { thread, own, approval };
  }
  const done = ["ai> ask risky", 'tool: a human said "yes"', "tool: risky did 2", "ai: the end"];

  it.each(["yes", { decisions: [approve] }, [], 1])(
    "refuses %j, which could answer either",
    async (answer) => {
      const { thread, own, approval } = await halted();
      await expect(thread.resume(answer)).rejects.toThrow(/multiple pending interrupts/);
      expect(thread.runs).toEqual([]);
      expect(await thread.waiting()).toBe(2);
      await thread.resume({ [own]: "yes", [approval]: { decisions: [approve] } });
      expect(await thread.pairedScript()).toEqual(done);
      expect(thread.runs).toEqual(["risky:2"]);
    },
  );

  it.each(["own", "approval"] as const)(
    "takes answers by id, one after the other: %s first",
    async (first) => {
      const { thread, own, approval } = await halted();
      const answers = { own: { [own]: "yes" }, approval: { [approval]: { decisions: [approve] } } };
      await thread.resume(answers[first]);
      expect(thread.runs).toEqual([]);
      await thread.resume(answers[first === "own" ? "approval" : "own"]);
      expect(await thread.pairedScript()).toEqual(done);
      expect(thread.runs).toEqual(["risky:2"]);
    },
  );

  it("keeps what was decided when a message comes instead of the other answer", async () => {
    const { thread, approval } = await halted();
    await thread.resume({ [approval]: { decisions: [reject("no")] } });
    await thread.say("enough");
    expect((await thread.pairedScript()).slice(1, 3)).toEqual([
      expect.stringMatching(/^tool! Tool call ask .*: a new message came before it finished/),
      "tool! Error: `risky` was not approved, so it was not run. Reason: no",
    ]);
    expect(thread.runs).toEqual([]);
  });
});

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
    [{ decisions: [null] }, "`decisions.0`: Invalid input: expected object, received null"],
    [{ decisions: [approve, "approve"] }, "`decisions.1`: Invalid input: expected object, received string"],
    [{ decisions: [{ type: "constructor" }] }, "Expected 'approve' | 'edit' | 'reject' | 'respond'"],
    [{ decisions: [{ type: "respond" }] }, "`decisions.0.message`: Invalid input: expected string"],
    [
      { decisions: [{ type: "reject", message: 3 }] },
      "`decisions.0.message`: Invalid input: expected string",
    ],
    [{ decisions: [{ type: "edit" }] }, "`decisions.0.edited_action`: Invalid input: expected object"],
    [{ decisions: [edit([])] }, "`decisions.0.edited_action.args`: Invalid input: expected record"],
    [true, "at most one for each request, in the order of the requests: "],
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
