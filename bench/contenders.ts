/** The names under which the results list what is measured. */

export const OURS = "langgraph-tether";

export const CREATE_AGENT = "createAgent";
export const WITH_PATCH = "createAgent + deepagents' patch";
export const WITH_SUMMARY = "createAgent + summarizationMiddleware";
export const DEEP_AGENT = "createDeepAgent";
export const FULL = "full";
export const DELTA = "delta";
export const DELTA_SERIALIZER = "delta + messageSerializer";
export const ARCHIVE = "archive";
export const ARCHIVE_DELTA_SERIALIZER = "archive + delta + messageSerializer";

export const STATE_GRAPH = "StateGraph";
export const STATE_REDUCER = "messagesStateReducer";
export const DELTA_REDUCER = "messagesDeltaReducer";
export const PATCH = "deepagents' patch";

export const FIRST_INPUT = "the first call";
export const NEXT_INPUT = "the next call";

export const FEW_TURNS = "after 100 turns";
export const MANY_TURNS = "after 2,400 turns";

export const SOUND_TURN = "a turn without a crash";
export const AFTER_CRASH = "a turn after a crash";
export const LANGGRAPH_SERIALIZER = "LangGraph's serializer";
export const MESSAGE_SERIALIZER = "messageSerializer";
export const WITH_TETHER = "createAgent + tetherMiddleware";
export const LOADING = "only load each thread";

export const ONE_WORKER = "one worker";
export const TWO_WORKERS = "two workers";
export const THREE_WORKERS = "three workers";
