/** With which settings this server asks its model. */

import { identityOf } from "../../providers/dialect-of.js";
import { windowOf } from "../../providers/failure/overflow.js";
import { createModel } from "../../providers/models/create-model.js";
import { readSettings } from "../settings.js";
import type { ServedForm } from "./view/request-form.js";

/** The name of the graph that `src/deploy/agent.ts` makes, in `langgraph.json`. */
const SERVED_GRAPH = "agent";

type Environment = Readonly<Record<string, string | undefined>>;

/** Makes a function that reads the settings when it is called first. A model that cannot be made has no window. */
export function servedFormOf(
  environment: Environment,
): () => Promise<(graph: string | undefined) => ServedForm | undefined> {
  let reading: Promise<ServedForm> | undefined;
  return async () => {
    reading ??= readForm(environment);
    const form = await reading;
    return (graph) => (graph === SERVED_GRAPH ? form : undefined);
  };
}

async function readForm(environment: Environment): Promise<ServedForm> {
  const { options } = readSettings(environment);
  const { systemPrompt, maxToolCallsFromHistory } = options;
  const spec: unknown = options.model;
  const model = typeof spec === "string" ? await createModel(spec).catch(() => undefined) : undefined;
  const { dialect, modelId } =
    model === undefined ? { dialect: "strict" as const, modelId: undefined } : identityOf(model);
  const maxTokens = model && windowOf(model);
  return {
    dialect: options.dialect ?? dialect,
    systemPrompt,
    ...(modelId !== undefined && { modelId }),
    ...(maxToolCallsFromHistory !== undefined && { maxToolCallsFromHistory }),
    ...(maxTokens !== undefined && { maxTokens }),
  };
}
