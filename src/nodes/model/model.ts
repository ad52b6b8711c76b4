import { AIMessage } from "@langchain/core/messages";
import { Command, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { type LoopLimits, resolveLimits } from "../../settings/loop-limits.js";
import type { RunContext } from "../../settings/run-context.js";
import { tellIfMissing } from "../format/settle-response.js";
import { emitEvent } from "../run/agent-event.js";
import { type AgentState, turnOf } from "../run/agent-state.js";
import { positionIn } from "../run/model-chain.js";
import { noteFailure, runInputsOf, runRecordOf } from "../run/run-handle.js";
import { stepsLeft } from "../run/superstep-budget.js";
import type { SummaryPolicyOf } from "../summary/summarize.js";
import type { Dispatched, ModelCommand } from "./dispatch-calls.js";
import { endWith, goOn, wait } from "./dispatched.js";
import { withFreshId } from "./fresh-id.js";
import { decideAtGate } from "./gate.js";
import { type ResponseOptions, respond } from "./respond.js";
import { TOOLS_OFF_TEXTS } from "./tools-off.js";
import { writeGiven } from "./write-given.js";

export interface ModelNodeOptions extends ResponseOptions {
  readonly limits: LoopLimits;
  /** The names of the tools whose results end the run. */
  readonly returnDirect: ReadonlySet<string>;
  readonly summaryPolicy: SummaryPolicyOf;
}

type Config = LangGraphRunnableConfig<RunContext>;

/** Passes the gate, and asks the model. */
export function createModelNode(options: ModelNodeOptions) {
  async function decide(state: AgentState, config: Config): Promise<Dispatched> {
    const given = runInputsOf(config)?.given;
    if (given !== undefined) {
      const response = runInputsOf(config)?.structuredResponse;
      return endWith(await writeGiven(given, state.messages, config, options.name), undefined, response);
    }
    if (runRecordOf(config)?.failure !== undefined) return wait();
    const taken = await options.takeMessages(state, config);
    if (taken !== undefined) return goOn(taken);
    const context = config.context ?? {};
    const limits = resolveLimits(context, options.limits);
    const policy = await options.summaryPolicy(context, positionIn(turnOf(state), context.model));
    const decision = decideAtGate(state, {
      limits,
      policy,
      stepsLeft: stepsLeft(config),
      returnDirect: options.returnDirect,
    });
    switch (decision.kind) {
      case "wait":
        return wait();
      case "end":
        tellIfMissing(options.formatPlan, state.messages, config);
        return endWith([]);
      case "summarize":
        return { command: new Command({ goto: "summarize" }), refused: 0, isEnd: false };
      case "used-up": {
        emitEvent(config, { type: "limit-reached", limit: decision.reason });
        if (options.formatPlan !== undefined)
          emitEvent(config, { type: "structured-response-missing", reason: "limit-reached" });
        const message = new AIMessage(TOOLS_OFF_TEXTS[decision.reason]);
        return endWith([await withFreshId(message, state.messages, config)], decision.turn);
      }
      case "close":
        if (decision.reason !== "after-required" && mayHaveTools(options, config))
          emitEvent(config, { type: "limit-reached", limit: decision.reason });
        return respond(state, decision, { limits, policy }, options, config);
      case "call":
        return respond(state, decision, { limits, policy }, options, config);
    }
  }

  return async function model(state: AgentState, config: Config): Promise<ModelCommand | ModelCommand[]> {
    const {
      command,
      refused,
      isEnd,
      combined = [],
    } = await decide(state, config).catch((error: unknown) => {
      // LangGraph adds a field to a thrown value. A primitive or frozen value cannot take it, so the run handle keeps it.
      if (Object.isExtensible(error) || !noteFailure(error, config)) throw error;
      return wait();
    });
    const more = combined.map((update): ModelCommand => new Command({ update }));
    const written = more.length === 0 ? command : [command, ...more];
    const record = runRecordOf(config);
    if (record === undefined) return written;
    const { tally } = record;
    record.noteResponse(command.update);
    tally.addResults(refused);
    if (isEnd && runInputsOf(config)?.given?.kind !== "correction") emitEvent(config, tally.end());
    return written;
  };
}

/** Middleware can offer tools that the graph does not have, and answer their calls. */
function mayHaveTools({ offered, formatPlan }: ModelNodeOptions, config: Config): boolean {
  if (offered.length > 0 || formatPlan !== undefined) return true;
  const { chat = [], function: serving = [] } = runInputsOf(config)?.middleware ?? {};
  return chat.length > 0 && serving.length > 0;
}
