import { describe, expect, it } from "vitest";
import { approvalThread, approve, reject } from "../../support/approval-graph.js";
import { calls } from "../../support/scripted-model.js";

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
