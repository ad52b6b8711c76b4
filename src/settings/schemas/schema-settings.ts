/** Settings of the agent itself: its name, and the own keys of its state and its context. */

import { isInteropZodObject } from "@langchain/core/utils/types";
import { StateSchema } from "@langchain/langgraph";
import { z } from "zod/v4";
import { hintAtClass } from "../hint-at-class.js";
import type { SettingsTable } from "../setting.js";
import type { OwnContextSchema, OwnStateSchema } from "./schema-types.js";

const isStateSchema = (value: unknown) => isInteropZodObject(value) || StateSchema.isInstance(value);

export const SCHEMA_SETTINGS = {
  /**
   * The name of the agent: of its graph, and of each response as `message.name`. A supervisor or a swarm needs it.
   * Default: none.
   */
  name: {
    schema: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
    expects: "a text of 1 to 64 letters, digits, `_` and `-`",
    help: "The name of the agent: of its graph, and of each response as `message.name`. A supervisor or a swarm needs it. Default: none.",
    default: undefined,
  },
  /**
   * Keys of the state beside `messages`, as a zod object or a `StateSchema`. Tools read them in `runtime.state` and
   * write them with a `Command`. Default: none.
   */
  stateSchema: {
    schema: z.custom<OwnStateSchema>(isStateSchema),
    expects: "a zod object or a `StateSchema`",
    hint: hintAtClass,
    help: "Keys of the state beside `messages`, as a zod object or a `StateSchema`. Tools read them in `runtime.state` and write them with a `Command`. Default: none.",
    default: undefined,
  },
  /**
   * Keys of a run's `context` beside the settings of a run, as a zod object. Tools read them in `runtime.context`.
   * Default: none.
   */
  contextSchema: {
    schema: z.custom<OwnContextSchema>(isInteropZodObject),
    expects: "a zod object",
    hint: hintAtClass,
    help: "Keys of a run's `context` beside the settings of a run, as a zod object. Tools read them in `runtime.context`. Default: none.",
    default: undefined,
  },
} as const satisfies SettingsTable;
