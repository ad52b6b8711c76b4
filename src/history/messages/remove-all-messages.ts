/**
 * The id of a `RemoveMessage` that removes all messages before it: LangGraph's `REMOVE_ALL_MESSAGES`. It is
 * repeated here because the functions on message lists also run without LangGraph.
 */
export const REMOVE_ALL_MESSAGES = "__remove_all__";
