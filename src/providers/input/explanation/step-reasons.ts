/** What each step of the projection says of its changes. */

import { whyCarryMedia } from "../projection/carry-media.js";
import { whyCleanContent } from "../projection/clean-content.js";
import { whyFillBlanks } from "../projection/fill-blanks.js";
import { whyFitStoredItems } from "../projection/fit-stored-items.js";
import { whyKeepOwnState } from "../projection/keep-own-state.js";
import { whyListCalls } from "../projection/list-calls.js";
import { whyNameTools } from "../projection/name-tools.js";
import { whyPairServerTools } from "../projection/pair-server-tools.js";
import { whyPassReasoning } from "../projection/pass-reasoning.js";
import type { StepName } from "../projection/projection.js";
import { whyRenameCalls } from "../projection/rename-calls.js";
import type { StepReason } from "../projection/step.js";

export const STEP_REASONS: Readonly<Record<StepName, StepReason>> = {
  listCalls: whyListCalls,
  keepOwnState: whyKeepOwnState,
  pairServerTools: whyPairServerTools,
  carryMedia: whyCarryMedia,
  cleanContent: whyCleanContent,
  nameTools: whyNameTools,
  fillBlanks: whyFillBlanks,
  renameCalls: whyRenameCalls,
  fitStoredItems: whyFitStoredItems,
  passReasoning: whyPassReasoning,
};
