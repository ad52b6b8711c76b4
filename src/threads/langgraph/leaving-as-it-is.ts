/** Errors that LangChain's agents pass on as they are. */

import { isRecord } from "../../shared/values.js";

/** The field of LangGraph's signals, such as interrupts. Not exported. */
const SIGNAL = "is_bubble_up";

/**
 * An error that a hook of a LangChain agent throws, and that leaves it with its class and its fields. LangChain puts
 * what a hook throws into an error of its own, which has neither, unless LangGraph calls it a signal. So the error says
 * once that it is one, to LangChain, which asks first. After that it is what it was.
 *
 * Contract: the hook itself must throw it, at once.
 */
export function leavingAsItIs(error: unknown): unknown {
  if (!isRecord(error) || SIGNAL in error || !Object.isExtensible(error)) return error;
  const takeBack = () => Reflect.deleteProperty(error, SIGNAL);
  const get = () => {
    takeBack();
    return true;
  };
  Object.defineProperty(error, SIGNAL, { get, configurable: true });
  // If nobody asks: LangChain does before anybody else has the error.
  queueMicrotask(() => queueMicrotask(takeBack));
  return error;
}
