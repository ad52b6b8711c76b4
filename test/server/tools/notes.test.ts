import { AIMessage } from "@langchain/core/messages";
import { InMemoryStore, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { describe, expect, it } from "vitest";
import { createSaveNoteTool, createSearchNotesTool } from "../../../server/tools/notes.js";
import { StrictStore } from "../../support/strict-store.js";

const searchNotes = createSearchNotesTool();

/** Runs one tool call in a graph, because a graph gives the tool its store. */
function createNotebook(store?: InMemoryStore) {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("tools", new ToolNode([createSaveNoteTool(), searchNotes]))
    .addEdge(START, "tools")
    .compile(store === undefined ? {} : { store });
  const use = async (name: string, args: object, configurable: object = {}) => {
    const call = new AIMessage({ content: "", tool_calls: [{ id: "call_1", name, args }] });
    const { messages } = await graph.invoke({ messages: [call] }, { configurable });
    return messages.at(-1)?.text;
  };
  return {
    save: (text: string, configurable?: object) => use("save_note", { text }, configurable),
    find: (query: string, configurable?: object) => use("search_notes", { query }, configurable),
  };
}

describe("notes", () => {
  it("are found by their words, ignoring case", async () => {
    const notes = createNotebook(new InMemoryStore());
    expect(await notes.save("Buy green tea")).toBe("Saved the note: Buy green tea");
    await notes.save("Call the bank");
    expect(await notes.find("TEA, green!")).toBe("- Buy green tea");
    expect(await notes.find("coffee")).toBe('No note matches "coffee".');
    expect(await notes.find("tea bank")).toBe('No note matches "tea bank".');
  });

  it("are all listed for an empty query", async () => {
    const notes = createNotebook(new InMemoryStore());
    expect(await notes.find("")).toBe("There are no notes.");
    await notes.save("one");
    await notes.save("two");
    expect(await notes.find("")).toBe("- one\n- two");
  });

  it("are kept once when saved twice", async () => {
    const store = new InMemoryStore();
    const notes = createNotebook(store);
    await notes.save("tea");
    await notes.save(" tea ");
    expect(await store.search(["notes"])).toHaveLength(1);
  });

  it("are found after the first page of the store", async () => {
    const store = new InMemoryStore();
    for (let index = 0; index < 250; index += 1)
      await store.put(["notes"], `${index}`, { text: `note ${index}` });
    expect(await createNotebook(store).find("249")).toBe("- note 249");
  });

  it("are found beside many notes of users, with any text", async () => {
    for (const store of [new InMemoryStore(), new StrictStore()]) {
      const notes = createNotebook(store);
      await notes.save("a \0 tea \ud83d");
      for (let index = 0; index < 120; index += 1)
        for (const namespace of [["notes", "ann"], ["notes-2"]])
          await store.put(namespace, `${index}`, { text: `tea ${index}` });
      expect(await notes.find("tea")).toBe("- a \0 tea \ud83d");
      expect(await notes.find("\0")).toBe("- a \0 tea \ud83d");
    }
  });

  it("are not chosen by what a client says about its user", async () => {
    const store = new InMemoryStore();
    await store.put(["notes", "alice"], "1", { text: "her secret" });
    const notes = createNotebook(store);
    const claim = { langgraph_auth_user_id: "alice", user_id: "alice" };
    expect(await notes.find("", claim)).toBe("There are no notes.");
    await notes.save("mine", claim);
    expect(await notes.find("")).toBe("- mine");
  });

  it("fail without a store, with a clear error", async () => {
    const notes = createNotebook();
    expect(await notes.save("tea")).toContain("Notes need a store");
    await expect(searchNotes.invoke({ query: "tea" })).rejects.toThrow("Notes need a store");
  });
});
