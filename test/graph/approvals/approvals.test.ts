import { AIMessage } from "@langchain/core/messages";
import { DynamicStructuredTool } from "@langchain/core/tools";
import type { JSONSchema } from "@langchain/core/utils/json_schema";
import { describe, expect, it } from "vitest";
import type { ApprovalRequest } from "../../../src/index.js";
import {
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
import { allOf } from "../../support/async.js";
import { calls, type WantedCall } from "../../support/models.js";

const risky = (label: string): WantedCall => ["risky", { label }];
const free = (label: string): WantedCall => ["free", { label }];
const DECLINED = "tool! Error: `risky` was not approved, so it was not run.";

describe.each<Driver>(["invoke", "stream"])("a call that needs approval, in %s,", (driver) => {
  it.each<[what: string, decision: object, result: string, runs: string[]]>([
    ["runs when it is approved", approve, "tool: risky did a", ["risky:a"]],
    ["runs with other arguments when it is edited", edit({ label: "b" }), "tool: risky did b", ["risky:b"]],
    ["does not run when it is rejected", reject(), DECLINED, []],
    ["tells the model why it was rejected", reject("too dear"), `${DECLINED} Reason: too dear`, []],
    ["has the human's words as its result", respond("it is done"), "tool: it is done", []],
  ])("%s", async (_what, decision, result, runs) => {
    const thread = approvalThread([calls(risky("a")), "the end"], {}, driver);
    expect(askedLabels(await thread.say("go"))).toEqual(["a"]);
    expect(thread.runs).toEqual([]);
    expect(await thread.script()).toEqual(["ai> risky"]);

    expect(questionsOf(await thread.decide(decision))).toEqual([]);
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
    const batch = calls(["risky", { label: "1" }, "x"], ["risky", { label: "2" }, "x"]);
    const thread = approvalThread([batch, "the end"]);
    const [question] = questionsOf(await thread.say("go"));
    expect(question?.action_requests.map(({ id }) => id)).toEqual(["x", "x_2"]);
    await thread.decide(reject(), approve);
    expect((await thread.pairedScript()).slice(1, 3)).toEqual([DECLINED, "tool: risky did 2"]);
  });

  it("show edited arguments in the history, and leave the rest of the message alone", async () => {
    const messageWith = (first: string, second: string) => ({
      id: "asking",
      content: [
        { type: "text", text: "I shall." },
        { type: "tool_use", id: "c1", name: "risky", input: { label: first } },
        { type: "tool_use", id: "c2", name: "risky", input: { label: second } },
      ],
      tool_calls: [
        { id: "c1", name: "risky", args: { label: first } },
        { id: "c2", name: "risky", args: { label: second } },
      ],
      additional_kwargs: { reasoning_content: "hm" },
    });
    const thread = approvalThread([new AIMessage(messageWith("1", "2")), "the end"]);
    await thread.say("go");
    const [, before] = await thread.messages();
    await thread.decide(approve, edit({ label: "two" }));
    const [, after] = await thread.messages();
    expect(after).toMatchObject(messageWith("1", "two"));
    expect(after?.additional_kwargs).toEqual(before?.additional_kwargs);
    expect(thread.runs.toSorted()).toEqual(["risky:1", "risky:two"]);
  });

  it("show on the messages stream what they decide, and the edited message no second time", async () => {
    const thread = approvalThread([calls(risky("1"), risky("2")), "the end"]);
    await thread.say("go");
    const options = { ...thread.config, streamMode: "messages" as const };
    const resume = { decisions: [edit({ label: "one" }), reject()] };
    const parts = await allOf<[AIMessage]>(thread.graph.stream(asInput({ resume }), options));
    const textsOf = (type: string) => parts.flatMap(([part]) => (part.type === type ? [part.text] : []));
    expect(textsOf("tool")).toEqual(["Error: `risky` was not approved, so it was not run.", "risky did one"]);
    expect(textsOf("ai").join("")).toBe("the end");
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

describe("a tool that itself asks a human, beside a call that needs approval", () => {
  async function halted() {
    const thread = approvalThread([calls(["ask"], risky("2")), "the end"]);
    type Asked = { id: string; value: unknown };
    const { __interrupt__ } = (await thread.say("go")) as { __interrupt__: Asked[] };
    const idOf = (isOwn: boolean) =>
      __interrupt__.find(({ value }) => (value === "may I?") === isOwn)?.id ?? "";
    const answers = { own: { [idOf(true)]: "yes" }, approval: { [idOf(false)]: { decisions: [approve] } } };
    const expectDone = async () => {
      const lines = ["ai> ask risky", 'tool: a human said "yes"', "tool: risky did 2", "ai: the end"];
      expect(await thread.pairedScript()).toEqual(lines);
      expect(thread.runs).toEqual(["risky:2"]);
    };
    return { thread, answers, approval: idOf(false), expectDone };
  }

  it.each(["yes", { decisions: [approve] }, [], 1])(
    "refuses %j, which could answer either",
    async (answer) => {
      const { thread, answers, expectDone } = await halted();
      await expect(thread.resume(answer)).rejects.toThrow(/multiple pending interrupts/);
      expect(thread.runs).toEqual([]);
      expect(await thread.waiting()).toBe(2);
      await thread.resume({ ...answers.own, ...answers.approval });
      await expectDone();
    },
  );

  it.each([
    ["own", "approval"],
    ["approval", "own"],
  ] as const)("takes answers by id, one after the other: %s first", async (first, second) => {
    const { thread, answers, expectDone } = await halted();
    await thread.resume(answers[first]);
    expect(thread.runs).toEqual([]);
    await thread.resume(answers[second]);
    await expectDone();
  });

  it("keeps what was decided when a message comes instead of the other answer", async () => {
    const { thread, approval } = await halted();
    await thread.resume({ [approval]: { decisions: [reject("no")] } });
    await thread.say("enough");
    expect((await thread.pairedScript()).slice(1, 3)).toEqual([
      expect.stringMatching(/^tool! Tool call ask .*: a new message came before it finished/),
      `${DECLINED} Reason: no`,
    ]);
    expect(thread.runs).toEqual([]);
  });
});

const batch = () => [calls(free("1"), risky("2"), risky("3")), "end"];

/** The same question, with what was wrong with its answer where chat UIs show it, and in a field of its own. */
function askedAgain(first: ApprovalRequest | undefined, problem: string) {
  const description = expect.stringMatching(
    /^The assistant wants to call `risky`\.\n\nThe last decision was not used: /,
  );
  const requests = first?.action_requests.map((request) => ({ ...request, description }));
  const changed = { action_requests: requests, actionRequests: requests };
  return { ...first, ...changed, problem: expect.stringContaining(problem) };
}

describe("an invalid decision is refused as a whole, and the question is repeated:", () => {
  const INVALID: readonly (readonly [given: unknown, problem: string])[] = [
    [null, "null. Expected"],
    ["approve", "`resume`"],
    [false, "`resume`"],
    [0, "`resume`"],
    [[], "`resume`"],
    [[{ type: "accept", args: null }], "`resume`"],
    [{}, "{}. Expected"],
    [{ decisions: {} }, "`decisions`"],
    [
      { decisions: [approve], lg_name: "Command", goto: "tools" },
      '`resume`: Unrecognized keys: "lg_name", "goto"',
    ],
    [{ lg_name: "Command", goto: ["tools"], resume: { decisions: [approve] } }, "`decisions`"],
    [JSON.parse('{"__proto__":{"decisions":[{"type":"approve"}]}}'), "`decisions`"],
    [true, "at most one for each request, in the order of the requests: "],
  ];
  const EXPECTED = "Invalid input: expected";
  const DECISIONS: readonly (readonly [decisions: unknown[], problem: string])[] = [
    [[], "`decisions`"],
    [[approve, approve, approve], "3 decisions for 2 requests"],
    [[approve, { type: "maybe" }], "`decisions.1.type`"],
    [[approve, edit({ label: "x" }, "free")], "`decisions.1.edited_action.name` is `free`"],
    [[approve, edit({ label: 3 })], "`decisions.1.edited_action.args.label`"],
    [[edit({ label: "x" }), edit({})], "`decisions.1.edited_action.args.label`"],
    [[{ ...approve, name: "risky" }], '`decisions.0`: Unrecognized key: "name"'],
    [[JSON.parse('{"type":"approve","__proto__":{"x":1}}')], '`decisions.0`: Unrecognized key: "__proto__"'],
    [[null], `\`decisions.0\`: ${EXPECTED} object, received null`],
    [[approve, "approve"], `\`decisions.1\`: ${EXPECTED} object, received string`],
    [[{ type: "constructor" }], "Expected 'approve' | 'edit' | 'reject' | 'respond'"],
    [[{ type: "respond" }], `\`decisions.0.message\`: ${EXPECTED} string`],
    [[{ type: "reject", message: 3 }], `\`decisions.0.message\`: ${EXPECTED} string`],
    [[{ type: "edit" }], `\`decisions.0.edited_action\`: ${EXPECTED} object`],
    [[edit([])], `\`decisions.0.edited_action.args\`: ${EXPECTED} record`],
  ];
  const rows = [...INVALID, ...DECISIONS.map(([decisions, problem]) => [{ decisions }, problem] as const)];

  it.each(rows)("%j", async (given, problem) => {
    const thread = approvalThread(batch());
    const [first] = questionsOf(await thread.say("go"));
    expect(questionsOf(await thread.resume(given))).toEqual([askedAgain(first, problem)]);
    expect(thread.runs).toEqual(["free:1"]);
    expect(await thread.script()).toEqual(["ai> free risky risky", "tool: free did 1"]);

    expect(questionsOf(await thread.resume("still not"))).toEqual([askedAgain(first, "received string")]);
    await thread.decide(approve, reject());
    expect(thread.runs).toEqual(["free:1", "risky:2"]);
    expect((await thread.pairedScript()).at(-1)).toBe("ai: end");
  });

  it("does not change prototypes, not even through edited arguments", async () => {
    const thread = approvalThread([calls(risky("1")), "end"]);
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
])("Edited arguments of a tool with a JSON schema are refused: %j", async (args, problem) => {
  const seen: unknown[] = [];
  const days: JSONSchema = { type: "object", properties: { from: { type: "number" } } };
  const properties = { city: { type: "string" }, days } as const;
  const schema: JSONSchema = { type: "object", properties, required: ["city"] };
  const book = new DynamicStructuredTool({
    name: "book",
    description: "book",
    schema,
    func: async (given: unknown) => {
      seen.push(given);
      return "booked";
    },
  });
  const steps = [calls(["book", { city: "Paris" }]), "end"];
  const thread = approvalThread(steps, { tools: [book], requireApproval: ["book"] });
  await thread.say("go");
  const [question] = questionsOf(await thread.decide(edit(args, "book")));
  expect(question?.problem).toContain(problem);
  expect(seen).toEqual([]);
  await thread.decide(edit({ city: "Rome" }, "book"));
  expect(seen).toEqual([{ city: "Rome" }]);
  await thread.pairedScript();
});
