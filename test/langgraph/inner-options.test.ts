import {
  Command,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { followingOptions, innerOptions } from "../../src/threads/langgraph/run-host.js";
import { inThread, oneNode, parallelGraph, say } from "../support/plain-graph.js";

describe("a resume value while two interrupts wait", () => {
  const ask = async (hasStrictResume: boolean) => {
    const answers: unknown[] = [];
    const question = () => void answers.push(interrupt("may I?"));
    const graph = parallelGraph([question, question], new MemorySaver());
    await graph.invoke(say("hi"), inThread);
    const options = innerOptions(inThread, { hasStrictResume, holdsResult: false });
    return graph.invoke(new Command({ resume: "yes" }), options).then(
      () => answers,
      () => "refused",
    );
  };

  it("is refused if LangGraph is strict", async () => {
    expect(await ask(true)).toBe("refused");
  });

  it("goes to both if LangGraph is not strict", async () => {
    expect(await ask(false)).toEqual(["yes", "yes"]);
  });
});

describe("a fan-out in a run with `maxConcurrency: 1`", () => {
  const count = async (options: object) => {
    let runs = 0;
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("work", () => {
        runs += 1;
        return {};
      })
      .addConditionalEdges(START, () => [1, 2, 3].map(() => new Send("work", {})), ["work"])
      .compile();
    await graph.invoke(say("hi"), options);
    return runs;
  };

  it("loses tasks in LangGraph; if this test fails, the limit can be passed on again", async () => {
    expect(await count({ maxConcurrency: 1 })).toBe(1);
  });

  it("runs all tasks with our options", async () => {
    const options = innerOptions({ maxConcurrency: 1 }, { hasStrictResume: false, holdsResult: false });
    expect(await count(options)).toBe(3);
  });
});

describe("a run whose result is held back", () => {
  it("has another name only if it is a subgraph", async () => {
    const names: unknown[] = [];
    const note = (config: object, holdsResult: boolean) =>
      names.push(innerOptions(config, { hasStrictResume: false, holdsResult }) as { runName?: string });
    note({}, true);
    await oneNode((_, { configurable = {} }) => {
      note({ configurable }, true);
      note({ configurable }, false);
    }).invoke(say("hi"));
    expect(names.map((options) => Object(options).runName)).toEqual([undefined, "agent-run", undefined]);
  });
});

/** Saves the id of the run with each checkpoint, as the server's checkpointer does. */
class ServerLikeSaver extends MemorySaver {
  override put(...[config, checkpoint, metadata]: Parameters<MemorySaver["put"]>) {
    return super.put(config, checkpoint, { ...metadata, run_id: "r" } as typeof metadata);
  }
}

describe("a run that follows another one", () => {
  const config = { configurable: { ...inThread.configurable, run_id: "r" }, metadata: { run_id: "r" } };

  it.each([
    ["ignores its input if it has the `run_id` of the run before it", config, 1],
    ["takes its input with our options", followingOptions(config), 2],
  ])("%s", async (_title, second, expected) => {
    const graph = oneNode(() => ({}), new ServerLikeSaver());
    await graph.invoke(say("one"), config);
    const { messages } = await graph.invoke(say("two"), second);
    expect(messages).toHaveLength(expected);
  });

  it("takes its input although metadata of a client names the run before it", async () => {
    const forged = { ...config, configurable: { thread_id: "1", run_id: "other" } };
    const graph = oneNode(() => ({}), new ServerLikeSaver());
    await graph.invoke(say("one"), config);
    const second = innerOptions(
      { ...forged, metadata: { run_id: "r" } },
      { hasStrictResume: false, holdsResult: false },
    );
    expect((await graph.invoke(say("two"), second)).messages).toHaveLength(2);
  });

  it("starts from the latest checkpoint", () => {
    const past = { configurable: { thread_id: "1", checkpoint_id: "c", checkpoint_map: { "": "c" } } };
    expect(followingOptions(past).configurable).toEqual({ thread_id: "1" });
  });
});
