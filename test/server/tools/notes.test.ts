import { Embeddings } from "@langchain/core/embeddings";
import { AIMessage } from "@langchain/core/messages";
import { InMemoryStore, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { describe, expect, it } from "vitest";
import { createSaveNoteTool, createSearchNotesTool } from "../../../server/tools/notes.js";
import { StrictStore } from "../../support/strict-store.js";

const save = createSaveNoteTool();
const search = createSearchNotesTool();

/** Runs one tool call in a graph, because a graph gives the tool its store. */
function createNotebook(store: InMemoryStore | undefined) {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("tools", new ToolNode([save, search]))
    .addEdge(START, "tools")
    .compile(store === undefined ? {} : { store });
  return async (name: string, args: Record<string, string>, configurable: Record<string, string> = {}) => {
    const call = new AIMessage({ content: "", tool_calls: [{ id: "call_1", name, args }] });
    const { messages } = await graph.invoke({ messages: [call] }, { configurable });
    return messages.at(-1)?.text;
  };
}

/** Embeds a text by the presence of two words, so that the ranking is known. */
class TwoWordEmbeddings extends Embeddings {
  override async embedQuery(text: string) {
    return [Number(text.includes("drink")), Number(text.includes("sport"))];
  }

  override embedDocuments(texts: string[]) {
    return Promise.all(texts.map((text) => this.embedQuery(text)));
  }
}

describe("notes", () => {
  it("are found by their words, ignoring case", async () => {
    const use = createNotebook(new InMemoryStore());
    expect(await use("save_note", { text: "Buy green tea" })).toBe("Saved the note: Buy green tea");
    await use("save_note", { text: "Call the bank" });
    expect(await use("search_notes", { query: "TEA, green!" })).toBe("- Buy green tea");
    expect(await use("search_notes", { query: "coffee" })).toBe('No note matches "coffee".');
    expect(await use("search_notes", { query: "tea bank" })).toBe('No note matches "tea bank".');
  });

  it("are all listed for an empty query", async () => {
    const use = createNotebook(new InMemoryStore());
    expect(await use("search_notes", { query: "" })).toBe("There are no notes.");
    await use("save_note", { text: "one" });
    await use("save_note", { text: "two" });
    expect(await use("search_notes", { query: "" })).toBe("- one\n- two");
  });

  it("are kept once when saved twice", async () => {
    const store = new InMemoryStore();
    const use = createNotebook(store);
    await use("save_note", { text: "tea" });
    await use("save_note", { text: " tea " });
    expect(await store.search(["notes"])).toHaveLength(1);
  });

  it("are found after the first page of the store", async () => {
    const store = new InMemoryStore();
    for (let index = 0; index < 250; index += 1)
      await store.put(["notes"], `${index}`, { text: `note ${index}` });
    expect(await createNotebook(store)("search_notes", { query: "249" })).toBe("- note 249");
  });

  it("are found beside many notes of users, with any text", async () => {
    for (const store of [new InMemoryStore(), new StrictStore()]) {
      const use = createNotebook(store);
      await use("save_note", { text: "a \0 tea \ud83d" });
      for (let index = 0; index < 120; index += 1)
        for (const namespace of [["notes", "ann"], ["notes-2"]])
          await store.put(namespace, `${index}`, { text: `tea ${index}` });
      expect(await use("search_notes", { query: "tea" })).toBe("- a \0 tea \ud83d");
      expect(await use("search_notes", { query: "\0" })).toBe("- a \0 tea \ud83d");
    }
  });

  it("are ranked, if many of other users fit better", async () => {
    const index = { dims: 2, embeddings: new TwoWordEmbeddings({}), fields: ["text"] };
    const store = new InMemoryStore({ index });
    for (let count = 0; count < 120; count += 1)
      await store.put(["notes", "ann"], `${count}`, { text: "drink" });
    await store.put(["notes"], "1", { text: "drink and sport" });
    expect(await createNotebook(store)("search_notes", { query: "a drink" })).toBe("- drink and sport");
  });

  it("are not chosen by what a client says about its user", async () => {
    const store = new InMemoryStore();
    await store.put(["notes", "alice"], "1", { text: "her secret" });
    const use = createNotebook(store);
    const claim = { langgraph_auth_user_id: "alice", user_id: "alice" };
    expect(await use("search_notes", { query: "" }, claim)).toBe("There are no notes.");
    await use("save_note", { text: "mine" }, claim);
    expect(await use("search_notes", { query: "" })).toBe("- mine");
  });

  it("are ranked by a store that has an index", async () => {
    const use = createNotebook(
      new InMemoryStore({ index: { dims: 2, embeddings: new TwoWordEmbeddings({}), fields: ["text"] } }),
    );
    await use("save_note", { text: "sport on Monday" });
    await use("save_note", { text: "drink tea" });
    expect(await use("search_notes", { query: "what to drink" })).toBe("- drink tea\n- sport on Monday");
  });

  it("fail without a store, with a clear error", async () => {
    const use = createNotebook(undefined);
    expect(await use("save_note", { text: "tea" })).toContain("Notes need a store");
    await expect(search.invoke({ query: "tea" })).rejects.toThrow("Notes need a store");
  });
});
