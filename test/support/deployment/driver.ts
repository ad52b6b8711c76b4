/** What the ways in which threads break need of an agent, in this process or on a server. */

import type { BaseMessage } from "@langchain/core/messages";
import type { AgentName } from "./agents.js";
import type { WorkCall } from "./strict-worker.js";

export interface Driver {
  readonly agent: AgentName;
  readonly threadId: string;
  /** A run with a message of the user, until it ends, fails, or asks a human. Returns the error of a failed run. */
  say(text: string): Promise<unknown>;
  /** A run in which the model makes these calls. */
  work(calls: readonly WorkCall[]): Promise<unknown>;
  /**
   * The same, cancelled while the tool `hold` runs.
   *
   * @param finished How many of the calls have finished then.
   */
  cancel(calls: readonly WorkCall[], finished: number): Promise<void>;
  /** The same, but the process of the run dies. A server cannot die for one thread alone, and cancels the run. */
  die(calls: readonly WorkCall[], finished: number): Promise<void>;
  /** The same. The run goes on until the driver is told to let it go. Only on a server, which knows that it goes on. */
  readonly leaveBusy?: (calls: readonly WorkCall[]) => Promise<void>;
  read(): Promise<BaseMessage[]>;
  /** Writes to the thread as `updateState` of a user does. */
  edit(messages: readonly object[], asNode?: string): Promise<void>;
}
