/** The part that a run has in an agent, for LangSmith's view of its trajectory. */
export type AgentType = "root" | "subagent" | "compaction";

type Metadata = Readonly<Record<string, unknown>>;

const FIELD = "ls_agent_type";

/** The metadata of a run with its part. */
export function withAgentType(metadata: Metadata | undefined, type: AgentType): Record<string, unknown> {
  return { ...metadata, [FIELD]: type };
}

/** The same for the run of a graph. A caller can name another part, such as that of an agent in its own agent. */
export function withGraphType(metadata: Metadata | undefined, isSubgraph: boolean): Record<string, unknown> {
  return isSubgraph ? withAgentType(metadata, "subagent") : { [FIELD]: "root", ...metadata };
}
