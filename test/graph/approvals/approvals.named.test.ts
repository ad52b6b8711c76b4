/** Which question a decision answers. A page can still show an earlier one. */

import { AIMessage } from "@langchain/core/messages";
import {
  type BaseCheckpointSaver,
  Command,
  MemorySaver,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import {
  type AgentGraphOptions,
  createAgentGraph,
  InvalidCommandError,
  PairedMessagesValue,
} from "../../../src/index.js";
import {
  ApprovalThread,
  approvalThread,
  approve,
  asInput,
  askedLabels,
  countingTools,
  edit,
  questionsOf,
  reject,
} from "../../support/approval-graph.js";
import { DURABILITIES } from "../../support/crashing-thread.js";
import { calls, FunctionModel } from "../../support/models.js";
import { mortalSaver } from "../../support/mortal-saver.js";
import { scripted } from "../../support/scripted-model.js";
import { user } from "../../support/thread.js";

const risky = (label: string, id = label) => ["risky", { label }, id] as const;
const named = (id: string, decision: object = approve) => ({ ...decision, tool_call_id: id });

/** A thread whose model gives these responses, and then is done. */
const open = (responses: readonly AIMessage[], options: Partial<AgentGraphOptions> = {}) =>
  approvalThread([], { model: new FunctionModel(({ index }) => responses[index] ?? "Done."), ...options });

/** A thread that has asked about the call `10`, and now asks about the call `999`. */
async function withSecondQuestion(
  between: "a rejection" | "a message",
  options: Partial<AgentGraphOptions> = {},
) {
  const thread = open([calls(risky("10")), calls(risky("999"))], options);
  await thread.say("go");
  const [stale = ""] = await thread.questions();
  const asked = await (between === "a rejection" ? thread.decide(reject()) : thread.say("never mind"));
  expect(askedLabels(asked)).toEqual(["999"]);
  return { thread, stale };
}

describe.each(["a rejection", "a message"] as const)("after a question that ended with %s", (between) => {
  it("a decision without a name approves nothing, and the question is asked again", async () => {
    const { thread } = await withSecondQuestion(between);
    for (const _ of [1, 2, 3]) {
      const [again] = questionsOf(await thread.resume({ decisions: [approve] }));
      expect(again?.problem).toContain("does not say which question it answers");
    }
    expect(thread.runs).toEqual([]);
    await thread.decide(approve);
    expect(thread.runs).toEqual(["risky:999"]);
  });

  it("a decision counts that names its call, but not one that names the earlier call", async () => {
    const { thread } = await withSecondQuestion(between);
    const [again] = questionsOf(await thread.resume({ decisions: [named("10")] }));
    expect(again?.problem).toContain("`decisions.0.tool_call_id` is `10`, but the question is about `999`");
    expect(thread.runs).toEqual([]);
    await thread.resume({ decisions: [named("999")] });
    expect(thread.runs).toEqual(["risky:999"]);
  });

  it("a decision for the earlier question is refused", async () => {
    const { thread, stale } = await withSecondQuestion(between);
    const late = thread.resume({ [stale]: { decisions: [approve] } });
    await expect(late).rejects.toThrow(InvalidCommandError);
    await expect(late).rejects.toThrow(`and not for \`${stale}\``);
    expect(thread.runs).toEqual([]);
    expect(await thread.waiting()).toBe(1);
  });

  it("a decision without a name counts if the agent accepts it", async () => {
    const { thread } = await withSecondQuestion(between, { acceptUnnamedDecisions: true });
    await thread.resume({ decisions: [approve] });
    expect(thread.runs).toEqual(["risky:999"]);
  });

  it("a decision without a name stays refused in the run that continues after a crash", async () => {
    const { thread } = await withSecondQuestion(between);
    const stopped = new AbortController();
    const run = thread.resume({ decisions: [approve] }, { signal: stopped.signal });
    stopped.abort();
    await run.catch(() => {});
    await thread.run(null);
    expect(thread.runs).toEqual([]);
    expect(await thread.waiting()).toBe(1);
  });
});

describe("a question that is answered twice", () => {
  it.each(["by its id", "without an id"])("counts once, %s: the second answer is told so", async (how) => {
    const thread = open([calls(risky("10"))]);
    await thread.say("go");
    const [id = ""] = await thread.questions();
    const answer = { decisions: [approve] };
    const click = () => thread.resume(how === "by its id" ? { [id]: answer } : answer);
    const [first, second] = await Promise.allSettled([click(), click()]);
    expect(first.status).toBe("fulfilled");
    expect(second).toMatchObject({ status: "rejected", reason: { code: "INVALID_COMMAND" } });
    expect(thread.runs).toEqual(["risky:10"]);
  });

  it("counts once, also where the model asks at once for another call", async () => {
    const thread = open([calls(risky("10")), calls(risky("999"))]);
    await thread.say("go");
    const click = () => thread.resume({ decisions: [approve] });
    await Promise.allSettled([click(), click()]);
    expect(thread.runs).toEqual(["risky:10"]);
    expect(await thread.waiting()).toBe(1);
  });

  it("is told so by its id, also where the model asks at once for another call", async () => {
    const thread = open([calls(risky("10")), calls(risky("999"))]);
    await thread.say("go");
    const [id = ""] = await thread.questions();
    const click = () => thread.resume({ [id]: { decisions: [approve] } });
    const [, second] = await Promise.allSettled([click(), click()]);
    expect(second).toMatchObject({ status: "rejected", reason: { code: "INVALID_COMMAND" } });
    expect(thread.runs).toEqual(["risky:10"]);
    expect(await thread.waiting()).toBe(1);
  });
});

describe("a late or a second click on a page that names the checkpoint it shows", () => {
  /** The question has ended, and the page still shows it. */
  async function stale(end: (thread: ApprovalThread) => Promise<unknown>) {
    const thread = open([calls(risky("10")), calls(risky("999"))]);
    await thread.say("go");
    const [id = ""] = await thread.questions();
    const { config } = await thread.graph.getState(thread.config);
    await end(thread);
    return { thread, id, click: (resume: unknown) => thread.resume(resume, config) };
  }
  const answer = { decisions: [approve] };

  it("approves nothing after a message", async () => {
    const { thread, click } = await stale((asked) => asked.say("never mind"));
    await expect(click(answer)).rejects.toThrow(/`1` has gone on since this one.*by its id/);
    expect(thread.runs).toEqual([]);
    expect(await thread.waiting()).toBe(1);
  });

  it.each([
    ["without a name", "by its id"],
    ["by its id", "without a name"],
    ["by its id", "by its id"],
    ["by its call", "by its call"],
  ])("runs nothing twice, first %s and then %s", async (first, second) => {
    const forms = (id: string) =>
      new Map(
        Object.entries({
          "without a name": answer,
          "by its id": { [id]: answer },
          "by its call": { decisions: [named("10")] },
        }),
      );
    const { thread, id, click } = await stale(async (asked) => {
      const [known = ""] = await asked.questions();
      await asked.resume(forms(known).get(first));
    });
    await expect(click(forms(id).get(second))).rejects.toThrow(InvalidCommandError);
    expect(thread.runs).toEqual(["risky:10"]);
    expect(await thread.waiting()).toBe(1);
  });

  it("decides otherwise in another branch if it names the question", async () => {
    const { thread, id, click } = await stale((asked) => asked.decide(reject()));
    await click({ [id]: answer });
    expect(thread.runs).toEqual(["risky:10"]);
  });
});

describe("a question about several calls", () => {
  const asking = async () => {
    const thread = open([calls(risky("1"), risky("2"), risky("3"))]);
    await thread.say("go");
    return thread;
  };

  it("takes decisions by the names of the calls, in any order", async () => {
    const thread = await asking();
    const asked = await thread.resume({ decisions: [named("3"), named("1", edit({ label: "one" }))] });
    expect(askedLabels(asked)).toEqual(["2"]);
    await thread.resume({ decisions: [named("2", reject())] });
    expect(thread.runs.toSorted()).toEqual(["risky:3", "risky:one"]);
  });

  it("is asked again if a decision names another call, or two name the same", async () => {
    const thread = await asking();
    for (const [decisions, problem] of [
      [[named("4")], "is `4`, but the question is about `1`, `2` or `3`"],
      [[named("1"), named("1", reject())], "is a second decision for `1`"],
      [[approve, named("1")], "is a second decision for `1`"],
    ] as const) {
      const [again] = questionsOf(await thread.resume({ decisions }));
      expect(again?.problem).toContain(problem);
    }
    expect(thread.runs).toEqual([]);
  });

  it("is not answered for the other calls by a second click on the first", async () => {
    const thread = await asking();
    await thread.resume({ decisions: [approve] });
    await thread.resume({ decisions: [approve] });
    expect(thread.runs).toEqual(["risky:1"]);
  });

  it("takes no name that two calls have", async () => {
    const thread = open([calls(risky("1", "same"), risky("2", "same"))]);
    const [asked] = questionsOf(await thread.say("go"));
    const ids = asked?.action_requests.map(({ id }) => id) ?? [];
    const decided = await thread.resume({ decisions: [named("same")] });
    if (new Set(ids).size === 2) expect(thread.runs).toEqual(["risky:1"]);
    else expect(questionsOf(decided)[0]?.problem).toContain("2 requests have it");
  });
});

describe("a decision that reaches no question", () => {
  it("is refused on a finished thread", async () => {
    const thread = open([calls(risky("10"))]);
    await thread.say("go");
    const [id = ""] = await thread.questions();
    await thread.decide(approve);
    for (const resume of [{ decisions: [approve] }, { [id]: { decisions: [approve] } }])
      await expect(thread.resume(resume)).rejects.toThrow("has none that waits");
    expect(thread.runs).toEqual(["risky:10"]);
  });

  it("is refused where another agent asks", async () => {
    const { runs, tools } = countingTools();
    const checkpointer = new MemorySaver();
    const other = createAgent({
      model: scripted(calls(risky("10"))),
      tools,
      checkpointer,
      middleware: [humanInTheLoopMiddleware({ interruptOn: { risky: true } } as never)],
    } as never);
    const options = { model: scripted("Done."), tools, requireApproval: ["risky"], checkpointer };
    const thread = new ApprovalThread(createAgentGraph(options), runs);
    await other.invoke(user("go") as never, thread.config);
    await expect(thread.resume({ decisions: [approve] })).rejects.toThrow(
      "waits in `HumanInTheLoopMiddleware.after_model` of another one",
    );
    expect(runs).toEqual([]);
    await thread.say("Are you there?");
    expect(runs).toEqual([]);
    expect(await thread.pairedScript()).toContain("ai: Done.");
    const late = other.graph.invoke(
      new Command({ resume: { decisions: [approve] } }) as never,
      thread.config,
    );
    await late.catch(() => {});
    expect(runs).toEqual([]);
  });
});

describe.each([undefined, true] as const)(
  "An agent in another graph, with `checkpointer: %s`",
  (checkpointer) => {
    it("takes a decision that names its question or its call, and no other", async () => {
      const { runs, tools } = countingTools();
      const model = new FunctionModel(({ messages, text }) =>
        messages.at(-1)?.type === "tool" ? "Done." : calls(risky(text)),
      );
      const options = { model, tools, requireApproval: ["risky"], ...(checkpointer && { checkpointer }) };
      const outer = new StateGraph(new StateSchema({ messages: PairedMessagesValue }))
        .addNode("agent", createAgentGraph(options))
        .addEdge(START, "agent")
        .compile({ checkpointer: new MemorySaver() });
      const thread = new ApprovalThread(outer as never, runs);
      await thread.say("10");
      const asked = await thread.say("999");
      expect(askedLabels(asked)).toEqual(["999"]);
      const [again] = questionsOf(await thread.resume({ decisions: [approve] }));
      expect(again?.problem).toContain("does not say which question it answers");
      expect(runs).toEqual([]);
      await thread.resume({ decisions: [named("999")] });
      expect(runs).toEqual(["risky:999"]);
      await thread.say("7");
      await thread.decide(approve);
      expect(runs).toEqual(["risky:999", "risky:7"]);
    });
  },
);

describe("a decision without a name", () => {
  const unnamed = { decisions: [approve] };

  it("has none beside an update either", async () => {
    for (const update of [{}, { messages: [{ role: "user", content: "Be quick." }] }]) {
      const { thread, stale } = await withSecondQuestion("a rejection");
      const [again] = questionsOf(await thread.run(asInput({ resume: unnamed, update })));
      expect(again?.problem).toContain("does not say which question it answers");
      const late = thread.run(asInput({ resume: { [stale]: unnamed }, update }));
      await expect(late).rejects.toThrow(InvalidCommandError);
      expect(thread.runs).toEqual([]);
      await thread.decide(approve);
      expect(thread.runs).toEqual(["risky:999"]);
    }
  });

  it.each([null, "", undefined])("has none with the checkpoint %j", async (checkpoint_id) => {
    const { thread } = await withSecondQuestion("a rejection");
    const configurable = { ...thread.config.configurable, checkpoint_id };
    const [again] = questionsOf(await thread.resume(unnamed, { configurable }));
    expect(again?.problem).toContain("does not say which question it answers");
    expect(thread.runs).toEqual([]);
  });

  it("has none in a branch where nobody was asked, if another branch has asked", async () => {
    for (const fork of ["a run", "a state update"]) {
      const responses = [
        new AIMessage("Hello."),
        calls(risky("10")),
        new AIMessage("Well."),
        calls(risky("999")),
      ];
      const thread = open(responses);
      await thread.say("hello");
      const { config } = await thread.graph.getState(thread.config);
      expect(askedLabels(await thread.say("go"))).toEqual(["10"]);
      if (fork === "a run") await thread.say("be careful", config);
      else {
        await thread.graph.updateState(config, { messages: [{ role: "user", content: "Be careful." }] });
        await thread.say("are you?");
      }
      expect(askedLabels(await thread.say("go on"))).toEqual(["999"]);
      const [again] = questionsOf(await thread.resume(unnamed));
      expect(again?.problem).toContain("does not say which question it answers");
      expect(thread.runs).toEqual([]);
    }
  });

  it("has none in a branch whose first run died before the model had responded", async () => {
    const responses = [new AIMessage("Hello."), calls(risky("10"))];
    const model = new FunctionModel(({ index }) => {
      if (index > 1 && dies) throw new Error("The process has died.");
      return responses[index] ?? (index < 5 ? calls(risky("999")) : "Done.");
    });
    let dies = true;
    const thread = open([], { model });
    await thread.say("hello");
    const { config } = await thread.graph.getState(thread.config);
    await thread.say("go");
    await expect(thread.say("be careful", { ...config, durability: "sync" })).rejects.toThrow("died");
    await expect(thread.say("are you?", { durability: "sync" })).rejects.toThrow("died");
    dies = false;
    expect(askedLabels(await thread.run(null))).toEqual(["999"]);
    const [again] = questionsOf(await thread.resume(unnamed));
    expect(again?.problem).toContain("does not say which question it answers");
    expect(thread.runs).toEqual([]);
  });

  it("is not stored if two questions wait, so that no later run acts on it", async () => {
    for (const durability of DURABILITIES) {
      const thread = open([calls(risky("10"), ["ask", {}, "which"])]);
      await thread.say("go", { durability });
      await expect(thread.resume(unnamed, { durability })).rejects.toThrow("multiple pending interrupts");
      await thread.run(null, { durability });
      expect(thread.runs).toEqual([]);
      expect(await thread.waiting()).toBe(2);
    }
  });

  it("is not taken for the other calls, if it is sent again after a crash", async () => {
    const { runs, tools } = countingTools();
    const checkpointer = new MemorySaver();
    const { mortal, die } = mortalSaver(checkpointer);
    const put: BaseCheckpointSaver["put"] = async (...given) => {
      const saved = await mortal.put(...given);
      if (dies) die();
      return saved;
    };
    const dying = new Proxy(mortal, {
      get: (target, name) => (name === "put" ? put : Reflect.get(target, name, target)),
    });
    let dies = false;
    const model = new FunctionModel(({ index }) => (index === 0 ? calls(risky("1"), risky("2")) : "Done."));
    const options = { model, tools, requireApproval: ["risky"], acceptUnnamedDecisions: true };
    const first = new ApprovalThread(createAgentGraph({ ...options, checkpointer: dying }), runs);
    await first.say("go", { durability: "sync" });
    dies = true;
    await expect(first.resume(unnamed, { durability: "sync" })).rejects.toThrow("died");
    const later = new ApprovalThread(createAgentGraph({ ...options, checkpointer }), runs);
    expect(askedLabels(await later.resume(unnamed))).toEqual(["2"]);
    expect(runs).toEqual(["risky:1"]);
  });
});

describe("an id that several calls of a thread have", () => {
  it("names none of them in a decision that names no question", async () => {
    const thread = open([calls(risky("10", "same")), calls(risky("999", "same"))]);
    await thread.say("go");
    expect(askedLabels(await thread.say("never mind"))).toEqual(["999"]);
    const [again] = questionsOf(await thread.resume({ decisions: [named("same")] }));
    expect(again?.problem).toContain("Earlier calls of this thread have the id `same` too");
    expect(thread.runs).toEqual([]);
    const [id = ""] = await thread.questions();
    await thread.resume({ [id]: { decisions: [named("same")] } });
    expect(thread.runs).toEqual(["risky:999"]);
  });
});
