import { describe, expect, it } from "vitest";
import { approvalThread, approve, askedLabels, edit, reject } from "../../support/approval-graph.js";
import { allOf } from "../../support/async.js";
import { lines } from "../../support/lines.js";
import { afterNext, beforeNext, throwing } from "../../support/middleware.js";
import { calls } from "../../support/models.js";
import { messagesOf } from "../../support/thread.js";

const both = () => calls(["free", { label: "1" }], ["risky", { label: "2" }]);

describe("a predicate", () => {
  const NO_RULE = new Error("no rule for this");
  it.each([throwing(NO_RULE), () => Promise.reject(NO_RULE)])(
    "that fails ends the run before a tool is called, and the next run works",
    async (fails) => {
      let isBroken = true;
      const requireApproval = () => (isBroken ? fails() : true);
      const thread = approvalThread([both(), both(), "the end"], { requireApproval });
      await expect(thread.say("go")).rejects.toThrow("no rule for this");
      expect(thread.runs).toEqual([]);
      isBroken = false;
      expect(askedLabels(await thread.say("again"))).toEqual(["1", "2"]);
      await thread.decide(approve, reject());
      expect(thread.runs).toEqual(["free:1"]);
      await thread.pairedScript();
    },
  );

  it.each([undefined, "no", 1, null])("that returns %j does not let the call pass", async (answer) => {
    const requireApproval = (() => answer) as unknown as () => boolean;
    const thread = approvalThread([both()], { requireApproval });
    await expect(thread.say("go")).rejects.toThrow(
      "Expected `requireApproval` to be a function that returns true or false",
    );
    expect(thread.runs).toEqual([]);
  });

  it("cannot change the arguments", async () => {
    const requireApproval = ({ args }: { args: object }) => {
      Reflect.set(args, "label", "changed");
      return false;
    };
    const thread = approvalThread([both(), "the end"], { requireApproval });
    await thread.say("go");
    expect(thread.runs.toSorted()).toEqual(["free:1", "risky:2"]);
  });
});

describe("approvals beside other settings", () => {
  it("ask nothing about a call of a missing tool", async () => {
    const batch = calls(["gone", {}], ["risky", { label: "1" }]);
    const thread = approvalThread([batch, "the end"], { requireApproval: () => true });
    expect(askedLabels(await thread.say("go"))).toEqual(["1"]);
    await thread.decide(reject());
    expect((await thread.pairedScript())[1]).toContain("there is no tool named `gone`");
  });

  it("count each call once for maxToolCalls, and ask nothing beyond it", async () => {
    const thread = approvalThread([both(), both(), "the end"], { maxToolCalls: 3 });
    await thread.say("go");
    expect(askedLabels(await thread.decide(approve))).toEqual([]);
    expect((await thread.pairedScript()).slice(3)).toEqual(
      lines(
        "ai> free risky",
        ...Array(2).fill("tool! Not run: the limit of tool calls for one turn is reached."),
        "ai: the end",
      ),
    );
    expect(thread.runs).toEqual(["free:1", "risky:2"]);
  });

  it("end with the decision if a call is required", async () => {
    const thread = approvalThread([calls(["risky", { label: "1" }])], { toolChoice: "required" });
    await thread.say("go");
    await thread.decide(approve);
    expect(await thread.pairedScript()).toEqual(["ai> risky", "tool: risky did 1"]);
  });

  it.each([1, 2, 3])(
    "keep the thread sound with a recursion limit of %i for the answer",
    async (recursionLimit) => {
      const thread = approvalThread([both(), "the end"]);
      await thread.say("go");
      const answered = thread.resume({ decisions: [approve] }, { recursionLimit });
      // The step that is gone on with is not counted; the tool and the model are.
      if (recursionLimit < 2) await expect(answered).rejects.toThrow("Recursion limit");
      else await answered;
      await thread.run(null);
      expect((await thread.pairedScript()).slice(1)).toEqual(
        lines("tool: free did 1 | tool: risky did 2 | ai: the end"),
      );
      expect(thread.runs).toEqual(["free:1", "risky:2"]);
    },
  );

  it("are asked before function middleware, which is around what was approved", async () => {
    const seen: string[] = [];
    const middleware = [
      beforeNext("function", (context) =>
        seen.push(`${context.call.name} ${JSON.stringify(context.arguments)}`),
      ),
      beforeNext("chat", () => {}),
      afterNext("agent", ({ interrupts }) => seen.push(`run: ${interrupts.length} interrupts`)),
    ];
    const batch = calls(["risky", { label: "1" }], ["risky", { label: "2" }]);
    const thread = approvalThread([batch, "the end"], { middleware });
    await thread.say("go");
    await thread.decide(edit({ label: "one" }), reject());
    expect(seen).toEqual(["run: 1 interrupts", 'risky {"label":"one"}', "run: 0 interrupts"]);
    expect((await thread.pairedScript()).at(-1)).toBe("ai: the end");
  });
});

it.each([{ streamMode: ["values"] }, { streamMode: ["updates", "values"], subgraphs: true }])(
  "The last values of a run that waits have its question beside the other results: %j",
  async (options) => {
    const { graph, config } = approvalThread([both()]);
    const input = { messages: "go" };
    const chunks = await allOf<unknown>(await graph.stream(input, { ...config, ...options } as never));
    const values = [chunks.at(-1)].flat().at(-1);
    expect(askedLabels(values)).toEqual(["2"]);
    expect(messagesOf(values).map(({ type }) => type)).toEqual(["human", "ai", "tool"]);
  },
);
