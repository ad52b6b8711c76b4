import type { JSONSchema } from "@langchain/core/utils/json_schema";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { readTextArguments } from "../../../src/agent/approval-request.js";

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
