/** Requests to the LangGraph server that runs in this process. */

/** Where the server keeps the function. The SDK's client uses it in graphs. Not exported. */
const SERVER_FETCH = Symbol.for("langgraph_api:fetch");

/** Contract: sends a request to a path of the server, through all of its checks, and returns the response. */
export type ServerFetch = (path: string, init: RequestInit) => Promise<Response>;

/** @throws Error in a process without a server. */
export const serverFetch: ServerFetch = (path, init) => {
  const send: unknown = Reflect.get(globalThis, SERVER_FETCH);
  if (typeof send !== "function") throw new Error("Expected a LangGraph server in this process.");
  return send(path, init);
};
