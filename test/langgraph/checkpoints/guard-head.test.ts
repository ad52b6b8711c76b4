import { type BaseCheckpointSaver, emptyCheckpoint } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { guardHead } from "../../../src/threads/guard-head.js";
import { SAVERS } from "../../support/savers.js";

const at = (id?: string) => ({
  configurable: { thread_id: "1", checkpoint_ns: "", ...(id !== undefined && { checkpoint_id: id }) },
});

function put(saver: BaseCheckpointSaver, id: string, parent?: string) {
  return saver.put(at(parent), { ...emptyCheckpoint(), id }, { source: "loop", step: 0, parents: {} }, {});
}

const guard = (saver: BaseCheckpointSaver) =>
  guardHead({ saver, target: saver, threadId: "1", signal: undefined, messageIds: () => [] });

const MOVED = { code: "THREAD_MOVED" };

describe.each(SAVERS)("With $title, a run", ({ isThere, open }) => {
  it.skipIf(!isThere)("is not kept if another writer has replaced its last checkpoint", async () => {
    const { connect } = await open();
    const { saver, assertKept } = guard(connect());
    await put(connect(), "1");
    await saver.getTuple(at());
    await put(saver, "2", "1");
    await assertKept();
    await put(connect(), "3", "1");
    await expect(assertKept()).rejects.toMatchObject({ ...MOVED, isInThread: false });
  });

  it.skipIf(!isThere)("is kept if another writer has continued its last checkpoint", async () => {
    const { connect } = await open();
    const { saver, assertKept } = guard(connect());
    await saver.getTuple(at());
    await put(saver, "1");
    await put(connect(), "2", "1");
    await assertKept();
    await expect(put(saver, "3", "1")).rejects.toMatchObject({ ...MOVED, isInThread: true });
  });

  it.skipIf(!isThere)("writes to the checkpoint that it began on only together with its own", async () => {
    const task = "00000001-0000-0000-0000-000000000000";
    const { connect } = await open();
    const writesAt = async (id: string) => (await connect().getTuple(at(id)))?.pendingWrites;
    await put(connect(), "1");
    const { saver } = guard(connect());
    await saver.getTuple(at());
    await saver.putWrites(at("1"), [["messages", ["written"]]], task);
    expect(await writesAt("1")).toEqual([]);

    const refused = guard(connect());
    await refused.saver.getTuple(at());
    await refused.saver.putWrites(at("1"), [["messages", ["of a refused run"]]], `${task.slice(0, -1)}1`);

    await put(saver, "2", "1");
    expect(await writesAt("1")).toEqual([[task, "messages", ["written"]]]);
    await expect(put(refused.saver, "3", "1")).rejects.toMatchObject(MOVED);
    expect(await writesAt("1")).toEqual([[task, "messages", ["written"]]]);
  });
});
