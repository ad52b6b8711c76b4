import type { JSONSchema } from "@langchain/core/utils/json_schema";
import { normalizeHitlInterruptPayload } from "@langchain/langgraph-sdk/ui";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  approvalRequest,
  type Decision,
  readDecisions,
  readTextArguments,
} from "../../src/agent/approval-request.js";
import { ANY_DECISION, type ApprovalRule } from "../../src/agent/approval-rules.js";
import { askedCalls } from "../../src/threads/close-calls.js";
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

describe("approvalRequest", () => {
  const requests = [
    { id: "1", name: "send", args: { to: "Ada" }, description: "The assistant wants to call `send`." },
    { id: "2", name: "pay", args: { amount: 3 }, description: "The assistant wants to call `pay`." },
  ];
  const configOf = (name: string, allowed: readonly string[]) => ({
    action_name: name,
    actionName: name,
    allowed_decisions: allowed,
    allowedDecisions: allowed,
  });

  it("is in the formats of Studio and agent-chat-ui, and of LangChain.js", () => {
    const all = ["approve", "edit", "reject", "respond"];
    const configs = [configOf("send", all), configOf("pay", all)];
    expect(approvalRequest(tasks, undefined, anyDecision)).toEqual({
      action_requests: requests,
      review_configs: configs,
      actionRequests: requests,
      reviewConfigs: configs,
    });
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
      { ...configOf("pay", ["approve", "edit"]), args_schema: schema, argsSchema: schema },
    ]);
  });

  // The SDK shows one spelling under both names.
  it("keeps its fields where the LangGraph SDK brings both spellings together", () => {
    const request = approvalRequest(tasks, undefined, anyDecision);
    const shown = normalizeHitlInterruptPayload(request);
    expect(shown).toMatchObject(JSON.parse(JSON.stringify(request)));
  });

  it("says what was wrong with the last decision", () => {
    const { problem, action_requests } = approvalRequest(tasks, "Not this way.", anyDecision);
    expect(problem).toBe("Not this way.");
    expect(action_requests.map(({ description }) => description)).toEqual([
      "The assistant wants to call `send`.\n\nThe last decision was not used: Not this way.",
      "The assistant wants to call `pay`.\n\nThe last decision was not used: Not this way.",
    ]);
  });
});

describe("askedCalls", () => {
  it("finds the calls of a request, as an interrupt keeps it", () => {
    const value = JSON.parse(JSON.stringify(approvalRequest(tasks, undefined, anyDecision)));
    const expected = [
      { id: "1", name: "send", args: { to: "Ada" }, description: "The assistant wants to call `send`." },
      { id: "2", name: "pay", args: { amount: 3 }, description: "The assistant wants to call `pay`." },
    ];
    expect(askedCalls([{ id: "i", value }])).toEqual(expected);
    expect(askedCalls({ id: "i", value })).toEqual(expected);
  });

  it("leaves out what was wrong with a decision", () => {
    const [send] = tasks;
    const value = approvalRequest(
      send === undefined ? [] : [{ ...send, description: "Send it?" }],
      "Not this way.",
      anyDecision,
    );
    expect(value.action_requests.map(({ description }) => description)).toEqual([
      "Send it?\n\nThe last decision was not used: Not this way.",
    ]);
    expect(askedCalls([{ id: "i", value }])).toMatchObject([{ description: "Send it?" }]);
  });

  it.each([
    undefined,
    null,
    "may I?",
    [],
    [null],
    [{ value: "may I?" }],
    [{ value: { action_requests: [{}] } }],
  ])("finds none in %j", (interrupts) => {
    expect(askedCalls(interrupts)).toEqual([]);
  });
});

describe("readDecisions", () => {
  const accepted: readonly (readonly [what: string, given: unknown, decisions: readonly Decision[]])[] = [
    ["fewer decisions than requests", [{ type: "approve" }], [{ type: "approve" }]],
    ["a rejection without a reason", [{ type: "reject" }], [{ type: "reject" }]],
    [
      "a decision of each kind",
      [
        { type: "respond", message: "no need" },
        { type: "reject", message: "too much" },
      ],
      [
        { type: "respond", message: "no need" },
        { type: "reject", message: "too much" },
      ],
    ],
    [
      "an edit in LangChain's own spelling",
      [{ type: "edit", editedAction: { name: "send", args: { to: "Bob" } } }],
      [{ type: "edit", edited_action: { name: "send", args: { to: "Bob" } } }],
    ],
    [
      "an edit in both spellings, as the SDK sends it",
      [{ type: "edit", editedAction: { name: "send", args: {} }, edited_action: { name: "send", args: {} } }],
      [{ type: "edit", edited_action: { name: "send", args: {} } }],
    ],
  ];

  it.each(accepted)("accepts %s", async (_what, given, decisions) => {
    const answer = await readDecisions({ decisions: given }, tasks, anyDecision, () => undefined);
    const decided = decisions.map((decision, index) => ({ task: tasks[index], decision }));
    expect(answer).toEqual({ kind: "decisions", decided });
  });
});

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
  [
    "a JSON schema",
    {
      type: "object",
      properties: {
        amount: { type: "number" },
        urgent: { type: "boolean" },
        note: { type: ["string", "null"] },
        until: { type: "null" },
        to: {
          type: "object",
          properties: { floor: { type: "number" }, tags: { type: "array", items: { type: "number" } } },
        },
        text: { type: "string" },
      },
      required: ["amount"],
    } satisfies JSONSchema,
  ],
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
