/** What ended runs left with their checkpoints, and how the next run recovers it. */

export { beginningCall } from "./ended-runs/beginning-call.js";
export {
  type AskedCall,
  askedCalls,
  type ExaminedCall,
  endsAfterModel,
  examineCalls,
  problemText,
} from "./ended-runs/close-calls.js";
export {
  endOfKilledRun,
  mayBeKilled,
  noteEnd,
  tellKilledRun,
  usageOfGraph,
  usageOfResponses,
} from "./ended-runs/killed-run.js";
export {
  awaitedCheckpoints,
  awaitLate,
  findLateResults,
  keepUntilSaved,
} from "./ended-runs/late-results.js";
export {
  changedKeys,
  continuesFork,
  findLeftovers,
  findNestedLeftovers,
  givenKeys,
  historyIn,
  isAddedBetweenRuns,
  isForked,
  type Leftovers,
  mayHaveLeftovers,
  mayLackResponse,
  walkBack,
  walkLeftovers,
} from "./ended-runs/leftovers.js";
export { asQuietUpdate } from "./ended-runs/put-back.js";
export {
  announce,
  type EndedRuns,
  type RecoveredCall,
  type Recovery,
  recover,
} from "./ended-runs/recover.js";
export { hasInput } from "./ended-runs/sent-again.js";
export { noteShown, retractMessages, takeBack } from "./ended-runs/shown-text.js";
export { callKeyOf, isReplaySafe, notesStarts, startingCall } from "./ended-runs/started-calls.js";
