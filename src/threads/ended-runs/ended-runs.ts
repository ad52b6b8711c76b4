/** What ended runs left with their checkpoints, and how the next run recovers it. */

export { beginningCall } from "./beginning-call.js";
export {
  type AskedCall,
  askedCalls,
  type ExaminedCall,
  endsAfterModel,
  examineCalls,
  problemText,
} from "./close-calls.js";
export {
  endOfKilledRun,
  mayBeKilled,
  noteEnd,
  tellKilledRun,
  usageOfGraph,
  usageOfResponses,
} from "./killed-run.js";
export {
  awaitedCheckpoints,
  awaitLate,
  findLateResults,
  keepUntilSaved,
} from "./late-results.js";
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
} from "./leftovers.js";
export { asQuietUpdate } from "./put-back.js";
export {
  announce,
  type EndedRuns,
  type RecoveredCall,
  type Recovery,
  recover,
} from "./recover.js";
export { hasInput } from "./sent-again.js";
export { noteShown, retractMessages, takeBack } from "./shown-text.js";
export { callKeyOf, isReplaySafe, notesStarts, startingCall } from "./started-calls.js";
