import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { saveResumeValue, waitingInterrupts } from "../../../src/threads/langgraph/read-checkpoints.js";
import { inThread, oneNode, say } from "../../support/plain-graph.js";

function missing(): never {
  throw new Error("Nothing was saved.");
}

/** A thread that waits for a first answer. */
async function waitingThread() {
  const saver = new MemorySaver();
  const given: unknown[] = [];
  const graph = oneNode(() => {
    given.push(interrupt("first?"));
    interrupt("second?");
  }, saver);
  await graph.invoke(say("hi"), inThread);
  const read = async () => (await saver.getTuple(inThread)) ?? missing();
  return { saver, graph, given, read };
}

describe("an interrupt", () => {
  it("waits until its task has a resume value", async () => {
    const { graph, read } = await waitingThread();
    expect(waitingInterrupts(await read())).toMatchObject([{ value: "first?" }]);
    await graph.invoke(new Command({ resume: "yes" }), inThread);
    expect(waitingInterrupts(await read())).toEqual([]);
  });

  it.each([
    { what: "a value for all interrupts", valueFor: () => "yes" },
    { what: "a value for the interrupt's id", valueFor: (id: string) => ({ [id]: "yes" }) },
  ])("does not wait any more once $what is saved", async ({ valueFor }) => {
    const { saver, read } = await waitingThread();
    const [waiting] = waitingInterrupts(await read());
    await saveResumeValue(saver, await read(), valueFor(String(Reflect.get(Object(waiting), "id"))));
    expect(waitingInterrupts(await read())).toEqual([]);
  });

  it("is resumed by LangGraph with a saved value, as after a crash", async () => {
    const { saver, graph, given, read } = await waitingThread();
    await saveResumeValue(saver, await read(), "yes");
    await graph.invoke(null, inThread);
    expect(given).toEqual(["yes"]);
  });
});
