/**
 * What LangChain's `createAgent` asks every entry of its `middleware`. It ignores an entry without any of its hooks.
 */
const ASKED_BY_LANGCHAIN = "wrapModelCall";

/**
 * The value, which throws if LangChain's `createAgent` gets it as middleware.
 *
 * @param explain Contract: makes the error.
 */
export function refusedByLangChain<Value extends object>(value: Value, explain: () => Error): Value {
  return Object.defineProperty(value, ASKED_BY_LANGCHAIN, {
    get: () => {
      throw explain();
    },
  });
}
