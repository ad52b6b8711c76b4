/** `createDeepAgent`: https://docs.langchain.com/oss/javascript/deepagents. It summarises and patches by itself. */

import { createDeepAgent } from "deepagents";
import type { AnyGraph } from "../adapter.js";
import { langchainAdapter } from "./langchain-agent.js";

export const adapter = langchainAdapter(
  {
    name: "deepagents",
    title: "deepagents",
    packages: ["deepagents"],
    hasApprovals: true,
    summarises: true,
  },
  ({ model, tools, checkpointer, approvals, stateSchema }) =>
    (
      createDeepAgent({
        model,
        tools,
        ...(approvals !== undefined && {
          interruptOn: Object.fromEntries(approvals.map((name) => [name, true])),
        }),
        ...(stateSchema !== undefined && { stateSchema }),
        ...(checkpointer !== undefined && { checkpointer }),
      } as never) as unknown as { graph: AnyGraph }
    ).graph,
);
