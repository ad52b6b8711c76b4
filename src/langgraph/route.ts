import { Runnable, type RunnableConfig } from "@langchain/core/runnables";

/**
 * A route of a graph that is called as it is. LangGraph puts a function into a runnable, which makes a config, a scope of
 * async context and a trace for each call.
 *
 * @param choose Contract: reads the state, and resolves to the name of the next node.
 */
export function route<State, Target>(
  choose: (state: State, config: RunnableConfig) => Target | Promise<Target>,
): Runnable<State, Target> {
  return new Route(choose);
}

class Route<State, Target> extends Runnable<State, Target> {
  override lc_namespace = ["langgraph"];
  readonly #choose: (state: State, config: RunnableConfig) => Target | Promise<Target>;

  constructor(choose: (state: State, config: RunnableConfig) => Target | Promise<Target>) {
    super();
    this.name = choose.name;
    this.#choose = choose;
  }

  override async invoke(state: State, config: RunnableConfig = {}): Promise<Target> {
    return this.#choose(state, config);
  }
}
