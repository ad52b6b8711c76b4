import { MemorySaver } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { cachedCreateModel, createAgentGraph, createModel } from "../../../src/index.js";
import { pairedScript, user } from "../../support/thread.js";

it("Each model is made once, even if it is asked for twice at the same time.", async () => {
  const names: string[] = [];
  const share = cachedCreateModel((name) => {
    names.push(name);
    return createModel(name);
  });
  const [one, other] = await Promise.all([share("offline:"), share("offline:")]);
  expect(one).toBe(other);
  expect(await share("offline:other")).not.toBe(one);
  expect(names).toEqual(["offline:", "offline:other"]);
});

it("A model that could not be made is tried again.", async () => {
  let attempts = 0;
  const share = cachedCreateModel(async (name) => {
    attempts += 1;
    if (attempts === 1) throw new Error("not yet");
    return createModel(name);
  });
  await expect(share("offline:")).rejects.toThrow("not yet");
  await expect(share("offline:")).resolves.toBe(await share("offline:"));
  expect(attempts).toBe(2);
});

it("Graphs that are handed the same function ask the same models, their summariser too.", async () => {
  const names: string[] = [];
  const share = cachedCreateModel((name) => {
    names.push(name);
    return createModel(name);
  });
  for (const thread_id of ["1", "2"]) {
    const graph = createAgentGraph({
      model: "offline:",
      models: ["offline:other"],
      summaryModel: "offline:",
      createModel: share,
      checkpointer: new MemorySaver(),
    });
    const config = { configurable: { thread_id } };
    expect(pairedScript(await graph.invoke(user("hello"), config))).toHaveLength(2);
    await graph.invoke(user("hello"), { ...config, context: { model: "offline:other" } });
  }
  expect(names).toEqual(["offline:", "offline:other"]);
});
