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
import { followingOptions, innerOptions } from "../../src/langgraph/inner-options.js";
import { inThread, oneNode, parallelGraph, say } from "../support/plain-graph.js";

describe("one answer where two questions wait", () => {
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

  it("is refused where LangGraph is told to be strict", async () => {
    expect(await ask(true)).toBe("refused");
  });

  it("answers both where it is not", async () => {
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

  it("loses tasks in LangGraph; when this fails, the limit may be handed on again", async () => {
    expect(await count({ maxConcurrency: 1 })).toBe(1);
  });

  it("runs them all with our options", async () => {
    const options = innerOptions({ maxConcurrency: 1 }, { hasStrictResume: false, holdsResult: false });
    expect(await count(options)).toBe(3);
  });
});

describe("a run whose result is held back", () => {
  it("has a name of its own as a subgraph, and no other run has", async () => {
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

/** Saves the id of the run with each checkpoint, as the server's saver does. */
class ServerLikeSaver extends MemorySaver {
  override put(...[config, checkpoint, metadata]: Parameters<MemorySaver["put"]>) {
    return super.put(config, checkpoint, { ...metadata, run_id: "r" } as typeof metadata);
  }
}

describe("a run that follows another one", () => {
  const config = { configurable: { ...inThread.configurable, run_id: "r" }, metadata: { run_id: "r" } };

  it.each([
    ["takes no input under the `run_id` of the run before", config, 1],
    ["takes it with our options", followingOptions(config), 2],
  ])("%s", async (_title, second, expected) => {
    const graph = oneNode(() => ({}), new ServerLikeSaver());
    await graph.invoke(say("one"), config);
    const { messages } = await graph.invoke(say("two"), second);
    expect(messages).toHaveLength(expected);
  });

  it("belongs to the end of the thread", () => {
    const past = { configurable: { thread_id: "1", checkpoint_id: "c" } };
    expect(followingOptions(past).configurable).toEqual({ thread_id: "1" });
  });
});
