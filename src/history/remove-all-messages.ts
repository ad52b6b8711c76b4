/**
 * The id of a `RemoveMessage` that removes all messages before it: LangGraph's `REMOVE_ALL_MESSAGES`. It is written out
 * here because the functions on lists of messages also run where LangGraph is not installed.
 */
export const REMOVE_ALL_MESSAGES = "__remove_all__";
