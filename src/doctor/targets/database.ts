/** The threads of a database with a LangGraph checkpointer's tables. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import type { Tables } from "../../threads/langgraph/tables.js";
import { storeOf } from "../graph-store.js";
import type { ThreadStore } from "../thread-store.js";
import { isGraphNamed, loadGraph } from "./load-graph.js";
import { type HideSecrets, type OpenContext, optionOf } from "./target.js";

export const graphOption = optionOf(
  "--graph <FILE:EXPORT>",
  "Your own graph, for a database. A repair needs it. Default: the graph of langgraph.json.",
);

export interface Database {
  /** The name of the place, for reports and receipts. */
  readonly target: string;
  readonly saver: BaseCheckpointSaver;
  readonly tables: Tables;
  readonly hide?: HideSecrets;
  readonly close: () => Promise<void>;
}

/**
 * @param spec See `loadGraph`. The graph is loaded after the database opens, because a wrong address is found faster.
 */
export async function storeOfDatabase(
  { target, saver, tables, hide = (text) => text, close }: Database,
  spec: string | undefined,
  context: OpenContext,
): Promise<ThreadStore> {
  const { canWrite, folder, quietMs, now, needsGraph = false } = context;
  try {
    const hasGraph = needsGraph || isGraphNamed(spec, folder);
    const graph = hasGraph ? await loadGraph(spec, context) : undefined;
    const store = storeOf({ graph, saver }, { target, tables, quietMs, now, close });
    return {
      ...store,
      canWrite,
      read: async (ref, bounds) => {
        const thread = await store.read(ref, bounds);
        const { content } = thread;
        // Throws if the database itself is no longer readable, which is not the thread's fault.
        if (content.kind === "unreadable")
          await tables.query(`SELECT thread_id FROM ${tables.checkpoints} LIMIT 1`, []);
        return "reason" in content
          ? { ...thread, content: { ...content, reason: hide(content.reason) } }
          : thread;
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
