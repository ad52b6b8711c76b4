/** What ended runs left with their checkpoints, and how the next run recovers it. */

export { beginningCall } from "./ended-runs/beginning-call.js";
export {
  type AskedCall,
  askedCalls,
  closeCalls,
  closingResult,
  type ExaminedCall,
  endsAfterModel,
  examineCalls,
  problemText,
  recoverCalls,
} from "./ended-runs/close-calls.js";
export {
  awaitedCheckpoints,
  awaitLate,
  findLateResults,
  keepUntilSaved,
  placeLateResults,
  tellLate,
} from "./ended-runs/late-results.js";
export {
  findLeftovers,
  givenKeys,
  historyIn,
  isAddedBetweenRuns,
  isForked,
  type Leftovers,
  leftoversInPlace,
  mayHaveLeftovers,
  mayLackResponse,
  walkBack,
  walkLeftovers,
} from "./ended-runs/leftovers.js";
export { asQuietUpdate, placeMessages, recoverMessages, recoverValues } from "./ended-runs/put-back.js";
export { hasInput } from "./ended-runs/sent-again.js";
export { noteShown, retractMessages, takeBack } from "./ended-runs/shown-text.js";
export { callKeyOf, isReplaySafe, notesStarts, startingCall } from "./ended-runs/started-calls.js";
