import { normalizeHitlInterruptPayload } from "@langchain/langgraph-sdk/ui";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { approvalRequest, readDecisions, readTextArguments } from "../../src/agent/run/approval-request.js";
import { ANY_DECISION, type ApprovalRule } from "../../src/agent/settings/approval-rules.js";
import type { Decision } from "../../src/index.js";
import { askedCalls } from "../../src/threads/ended-runs/close-calls.js";
import type { ToolTask } from "../../src/threads/langgraph/read-checkpoints.js";

const task = (id: string, name: string, args: Record<string, unknown> | undefined = {}): ToolTask => ({
  call: { id, name, kind: "valid" },
  index: 0,
  place: `message:${id}`,
  args,
  parseError: undefined,
});

const anyDecision = () => ANY_DECISION;
const tasks = [task("1", "send", { to: "Ada" }), task("2", "pay", { amount: 3 })];

const requests = [
  { id: "1", name: "send", args: { to: "Ada" }, description: "The assistant wants to call `send`." },
  { id: "2", name: "pay", args: { amount: 3 }, description: "The assistant wants to call `pay`." },
];

describe("approvalRequest", () => {
  const configOf = (name: string, allowed: readonly string[]) => ({
    action_name: name,
    actionName: name,
    allowed_decisions: allowed,
    allowedDecisions: allowed,
  });

  it("is in the formats of Studio and agent-chat-ui, and of LangChain.js", () => {
    const all = ["approve", "edit", "reject", "respond"];
    const configs = [configOf("send", all), configOf("pay", all)];
    const request = approvalRequest(tasks, undefined, anyDecision);
    const snake = { action_requests: requests, review_configs: configs };
    expect(request).toEqual({ ...snake, actionRequests: requests, reviewConfigs: configs });
    // The SDK brings both spellings together: it shows one under both names.
    expect(normalizeHitlInterruptPayload(request)).toMatchObject(JSON.parse(JSON.stringify(request)));
  });

  it("names the decisions and the schema that each tool has", () => {
    const schema = { type: "object" } as const;
    const pay: ApprovalRule = {
      allowedDecisions: ["approve", "edit"],
      argsSchema: schema,
      argsJsonSchema: schema,
    };
    const { review_configs } = approvalRequest(tasks, undefined, (name) =>
      name === "pay" ? pay : { ...ANY_DECISION, allowedDecisions: ["reject"] },
    );
    expect(review_configs).toEqual([
      configOf("send", ["reject"]),
      { ...configOf("pay", ["approve", "edit"]), argsSchema: schema },
    ]);
  });

  it("says what was wrong with the last decision", () => {
    const { problem, action_requests } = approvalRequest(tasks, "Not this way.", anyDecision);
    expect(problem).toBe("Not this way.");
    const told = requests.map(
      ({ description }) => `${description}\n\nThe last decision was not used: Not this way.`,
    );
    expect(action_requests.map(({ description }) => description)).toEqual(told);
  });
});

describe("askedCalls", () => {
  it("finds the calls of a request, as an interrupt keeps it", () => {
    const value = JSON.parse(JSON.stringify(approvalRequest(tasks, undefined, anyDecision)));
    expect(askedCalls([{ id: "i", value }])).toEqual(requests);
    expect(askedCalls({ id: "i", value })).toEqual(requests);
  });

  it("leaves out what was wrong with a decision", () => {
    const send = { ...task("1", "send"), description: "Send it?" };
    const value = approvalRequest([send], "Not this way.", anyDecision);
    expect(value.action_requests.map(({ description }) => description)).toEqual([
      "Send it?\n\nThe last decision was not used: Not this way.",
    ]);
    expect(askedCalls([{ id: "i", value }])).toMatchObject([{ description: "Send it?" }]);
  });

  const NONE = [
    undefined,
    null,
    "may I?",
    [],
    [null],
    [{ value: "may I?" }],
    [{ value: { action_requests: [{}] } }],
  ];
  it.each(NONE)("finds none in %j", (interrupts) => {
    expect(askedCalls(interrupts)).toEqual([]);
  });
});

const BOB = { name: "send", args: { to: "Bob" } };
const KINDS: Decision[] = [
  { type: "respond", message: "no need" },
  { type: "reject", message: "too much" },
];
it.each<[what: string, given: unknown[], decisions: Decision[]]>([
  ["fewer than requests", [{ type: "approve" }], [{ type: "approve" }]],
  ["a rejection without a reason", [{ type: "reject" }], [{ type: "reject" }]],
  ["one of each kind", KINDS, KINDS],
  [
    "an edit in LangChain's own spelling",
    [{ type: "edit", editedAction: BOB }],
    [{ type: "edit", edited_action: BOB }],
  ],
  [
    "an edit in both spellings, as the SDK sends it",
    [{ type: "edit", editedAction: BOB, edited_action: BOB }],
    [{ type: "edit", edited_action: BOB }],
  ],
])("readDecisions accepts %s", async (_what, given, decisions) => {
  const answer = await readDecisions({ decisions: given }, tasks, anyDecision, () => undefined);
  const decided = decisions.map((decision, index) => ({ task: tasks[index], decision }));
  expect(answer).toEqual({ kind: "decisions", decided, rest: tasks.slice(decided.length) });
});

const number = { type: "number" } as const;
const to = { type: "object", properties: { floor: number, tags: { type: "array", items: number } } } as const;
const properties = {
  amount: number,
  urgent: { type: "boolean" },
  note: { type: ["string", "null"] },
  until: { type: "null" },
  to,
  text: { type: "string" },
} as const;
const schemas: readonly (readonly [what: string, schema: unknown])[] = [
  [
    "zod",
    z.object({
      amount: z.number(),
      urgent: z.boolean().optional(),
      note: z.string().nullable().optional(),
      until: z.null().optional(),
      to: z.object({ floor: z.number().optional(), tags: z.array(z.number()).optional() }).optional(),
      text: z.string().optional(),
    }),
  ],
  ["a JSON schema", { type: "object", properties, required: ["amount"] }],
];

const former = { amount: 10, urgent: true, note: null, to: { floor: 2, tags: [1] }, text: "10" };

describe.each(schemas)("with %s", (_what, schema) => {
  it.each<[what: string, given: Record<string, unknown>, taken: Record<string, unknown>]>([
    ["a number", { amount: "7" }, { amount: 7 }],
    ["a number with spaces", { amount: " 7.5 " }, { amount: 7.5 }],
    ["a boolean", { amount: 1, urgent: "false" }, { amount: 1, urgent: false }],
    ["null", { amount: 1, until: "null" }, { amount: 1, until: null }],
    [
      "several fields",
      { amount: "7", urgent: "true", until: "null" },
      { amount: 7, urgent: true, until: null },
    ],
    ["an object", { amount: 1, to: '{"floor": 3}' }, { amount: 1, to: { floor: 3 } }],
    ["text in an object", { amount: 1, to: { floor: "3" } }, { amount: 1, to: { floor: 3 } }],
    ["text in a list", { amount: 1, to: { tags: ["4", 5] } }, { amount: 1, to: { tags: [4, 5] } }],
    ["text in text", { amount: 1, to: '{"floor": "3"}' }, { amount: 1, to: { floor: 3 } }],
    ["a field that was not edited", { amount: "10", note: "null" }, { amount: 10, note: null }],
    [
      "an object that was not edited",
      { amount: 1, to: JSON.stringify(former.to, undefined, 2) },
      { amount: 1, to: former.to },
    ],
  ])("takes %s that arrives as text", async (_field, given, taken) => {
    expect(await readTextArguments(given, former, schema)).toEqual(taken);
  });

  it("reads all texts of a list in few looks at the list", async () => {
    const read = z.number();
    let looks = 0;
    const watched = z.object({
      list: z.array(
        z.preprocess((item) => {
          looks += 1;
          return item;
        }, read),
      ),
    });
    const list = Array.from({ length: 1_000 }, (_, index) => `${index}`);
    const taken = await readTextArguments({ list }, {}, watched);
    expect(taken).toEqual({ list: list.map(Number) });
    expect(looks).toBeLessThan(10_000);
  });

  it.each<[what: string, given: Record<string, unknown>]>([
    ["text where the tool expects text", { amount: 1, text: "7", note: "7" }],
    ["text that is not JSON", { amount: "seven" }],
    ["text of another type", { amount: "true" }],
    ["quoted text", { amount: '"7"' }],
    ["a missing field", { urgent: true }],
    ["arguments that already fit", { amount: 3, urgent: false }],
  ])("leaves %s as it is", async (_field, given) => {
    expect(await readTextArguments(given, {}, schema)).toEqual(given);
  });
});

it("leaves prototypes alone", async () => {
  const given = JSON.parse('{"amount":"7","__proto__":{"polluted":true}}') as Record<string, unknown>;
  const taken = await readTextArguments(given, {}, z.object({ amount: z.number() }));
  expect(taken["amount"]).toBe(7);
  expect(Object.getPrototypeOf(taken)).toBe(Object.prototype);
  expect(Reflect.get({}, "polluted")).toBeUndefined();
});
