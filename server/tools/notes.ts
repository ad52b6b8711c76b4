/**
 * Notes that outlive their thread, in the LangGraph store. On a server with users, each user has a store. Otherwise all
 * share the same notes.
 */

import { createHash } from "node:crypto";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import type { BaseStore } from "@langchain/langgraph";
import { z } from "zod/v4";
import { hasMethods } from "../../src/shared/values.js";
import { escapeText, escapeValue, searchItems, unescapeValue } from "../../src/threads/stores.js";

type NoteStore = Pick<BaseStore, "put" | "search">;

const NAMESPACE = ["notes"];
const MAX_FOUND = 10;
/** Each word costs a search of each note. */
const MOST_WORDS = 40;

const noteSchema = z.object({ text: z.string() });

const saveNoteSchema = z.object({ text: z.string().trim().min(1).describe("The text of the note.") });
const searchNotesSchema = z.object({
  query: z.string().describe("Words that the note contains. Empty to list the notes."),
});

export function createSaveNoteTool() {
  return tool(
    async ({ text }: z.infer<typeof saveNoteSchema>, runtime: ToolRuntime) => {
      // The key is derived from the text, so that a note saved twice is kept once.
      const key = createHash("sha256").update(escapeText(text)).digest("hex").slice(0, 32);
      await readStore(runtime).put(NAMESPACE, key, escapeValue({ text }));
      return `Saved the note: ${text}`;
    },
    {
      name: "save_note",
      description: "Saves a note that can be searched later, even in other conversations.",
      schema: saveNoteSchema,
    },
  );
}

export function createSearchNotesTool() {
  return tool(
    async ({ query }: z.infer<typeof searchNotesSchema>, runtime: ToolRuntime) => {
      const found = await findByWords(readStore(runtime), query);
      if (found.length === 0) return query.trim() ? `No note matches "${query}".` : "There are no notes.";
      return found.map((text) => `- ${text}`).join("\n");
    },
    {
      name: "search_notes",
      description: "Searches the saved notes.",
      schema: searchNotesSchema,
    },
  );
}

/** Every word of the query occurs in the note. */
async function findByWords(store: NoteStore, query: string): Promise<string[]> {
  const words = (query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, MOST_WORDS);
  const found: string[] = [];
  for await (const { namespace, value } of searchItems(store, NAMESPACE)) {
    if (found.length === MAX_FOUND) break;
    const text = noteSchema.safeParse(unescapeValue(value)).data?.text;
    // A search for notes without a user also finds every user's, which are below them.
    if (text === undefined || namespace.length !== NAMESPACE.length) continue;
    const searched = text.toLowerCase();
    if (words.every((word) => searched.includes(word))) found.push(text);
  }
  return found;
}

function readStore({ store }: { readonly store: unknown }): NoteStore {
  // The server's store comes from another copy of the class.
  if (hasMethods(store, "put", "search")) return store as NoteStore;
  throw new Error("Notes need a store, and this graph runs without one. Compile it with a `store`.");
}
