/** For any batch and any decisions, split in any way: each call ends once, as it was decided. */

import { MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { expect } from "vitest";
import { type ApprovalOptions, createAgentGraph, type RequireApproval } from "../../src/index.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { validateHistory } from "../../src/providers/rules/validate-history.js";
import {
  ApprovalThread,
  approve,
  askedLabels,
  countingTools,
  edit,
  reject,
  respond,
} from "../support/approval-graph.js";
import { calls, FunctionModel } from "../support/models.js";
import { law } from "../support/test-tools.js";

const KINDS = ["approve", "edit", "reject", "respond"] as const;
type Kind = (typeof KINDS)[number];

interface Wanted {
  readonly name: "free" | "risky";
  readonly decision: Kind;
  /** From a small set, so that they repeat. */
  readonly id: string;
}

type Step =
  | { readonly kind: "answer"; readonly size: number }
  | { readonly kind: "wrong"; readonly answer: unknown }
  /** A decision that the tool does not allow. */
  | { readonly kind: "forbidden" }
  | { readonly kind: "restart" }
  | { readonly kind: "continue" };

const wanted: fc.Arbitrary<Wanted> = fc.record({
  name: fc.constantFrom("free", "risky"),
  decision: fc.constantFrom(...KINDS),
  id: fc.constantFrom("a", "b", "c", "d"),
});
const batches = fc.array(wanted, { minLength: 1, maxLength: 7 });

const wrong = [null, {}, [], "yes", { decisions: [] }, { decisions: Array(9).fill(approve) }];
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.integer({ min: 1, max: 4 }).map((size): Step => ({ kind: "answer", size })),
  },
  fc.oneof(fc.constantFrom(...wrong), fc.jsonValue()).map((answer): Step => ({ kind: "wrong", answer })),
  {
    weight: 3,
    arbitrary: fc.constantFrom<Step>({ kind: "forbidden" }, { kind: "restart" }, { kind: "continue" }),
  },
);
const steps = fc.array(step, { maxLength: 6 });

/** Names of tools, or options that allow only the decisions that are wanted. */
function requirement(batch: readonly Wanted[], hasOptions: boolean) {
  const wanted = KINDS.filter((kind) => batch.some(({ decision }) => decision === kind));
  const allowedDecisions = hasOptions ? wanted : KINDS;
  const risky: ApprovalOptions = {
    allowedDecisions,
    description: ({ args }) => `${args["label"]}?`,
    argsSchema: { type: "object", required: ["label"] },
    when: ({ toolCall }) => toolCall.name === "risky",
  };
  const requireApproval: RequireApproval = hasOptions ? { risky, free: false } : ["risky"];
  return { requireApproval, forbidden: KINDS.find((kind) => !allowedDecisions.includes(kind)) };
}

function decisionOf(kind: Kind, label: string): object {
  if (kind === "approve") return approve;
  if (kind === "edit") return edit({ label: `${label}!` });
  return kind === "reject" ? reject() : respond(`said ${label}`);
}

/** The arguments of the tool run; undefined if the tool was not run. */
function ranWith({ name, decision }: Wanted, label: string): string | undefined {
  if (name === "free" || decision === "approve") return label;
  return decision === "edit" ? `${label}!` : undefined;
}

function resultOf(wanted: Wanted, label: string): string {
  const ran = ranWith(wanted, label);
  if (ran !== undefined) return `tool: ${wanted.name} did ${ran}`;
  return wanted.decision === "respond"
    ? `tool: said ${label}`
    : "tool! Error: `risky` was not approved, so it was not run.";
}

law(
  "each call has one result, in call order, and each tool ran exactly as often as approved",
  50,
  [batches, steps, fc.boolean(), fc.boolean()],
  async (batch, split, isGivenUp, hasOptions) => {
    const { runs, tools } = countingTools();
    const { requireApproval, forbidden } = requirement(batch, hasOptions);
    const checkpointer = new MemorySaver();
    const model = new FunctionModel(({ messages }) =>
      messages.at(-1)?.text === "go"
        ? calls(...batch.map(({ name, id }, index) => [name, { label: `${index}` }, id] as const))
        : "the end",
    );
    const start = () =>
      new ApprovalThread(createAgentGraph({ model, tools, requireApproval, checkpointer }), runs);
    const decide = (asked: readonly unknown[], size = asked.length) =>
      asked
        .slice(0, size)
        .map((label) => decisionOf(batch[Number(label)]?.decision ?? "reject", String(label)));

    let thread = start();
    let asked = askedLabels(await thread.say("go"));
    for (const step of split) {
      if (asked.length === 0) break;
      if (step.kind === "restart") thread = start();
      if (step.kind === "continue") asked = askedLabels(await thread.run(null));
      if (step.kind === "forbidden" && forbidden !== undefined)
        asked = askedLabels(await thread.decide(decisionOf(forbidden, String(asked[0]))));
      if (step.kind === "wrong") asked = askedLabels(await thread.resume(step.answer));
      if (step.kind === "answer") asked = askedLabels(await thread.decide(...decide(asked, step.size)));
    }
    const declined = new Set(isGivenUp ? asked.map(String) : []);
    if (isGivenUp) await thread.say("enough");
    else if (asked.length > 0) await thread.decide(...decide(asked));

    const script = await thread.pairedScript();
    expect(script.slice(1, 1 + batch.length)).toEqual(
      batch.map((wanted, index) =>
        declined.has(`${index}`)
          ? expect.stringContaining("it was not approved, so it was not run.")
          : resultOf(wanted, `${index}`),
      ),
    );
    expect(script.at(-1)).toBe("ai: the end");
    const expected = batch.flatMap((wanted, index) => {
      const ran = declined.has(`${index}`) ? undefined : ranWith(wanted, `${index}`);
      return ran === undefined ? [] : [`${wanted.name}:${ran}`];
    });
    expect(runs.toSorted()).toEqual(expected.toSorted());
    expect(model.refused).toEqual([]);
    const messages = await thread.messages();
    expect(validateHistory(messages, "openai")).toEqual([]);
    for (const dialect of ["openai", "anthropic", "mistral", "strict"] as const) {
      expect(validateHistory(toModelInput(messages, { dialect }), dialect)).toEqual([]);
    }
  },
);
