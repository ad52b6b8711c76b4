/** The suites, in the order of the table. */

import type { Suite } from "./suite.js";
import { aborts } from "./suites/aborts.js";
import { recordedCuts } from "./suites/cuts.js";
import { reportedHistories } from "./suites/histories.js";
import { keys } from "./suites/keys.js";
import { kills } from "./suites/kills.js";
import { nested } from "./suites/nested.js";
import { refusals } from "./suites/refusals.js";
import { repeats } from "./suites/repeats.js";
import { resumes } from "./suites/resumes.js";
import { server } from "./suites/server.js";
import { sound } from "./suites/sound.js";
import { streams } from "./suites/streams.js";
import { summaries } from "./suites/summaries.js";
import { updates } from "./suites/updates.js";
import { windows } from "./suites/windows.js";

export const SUITES: readonly Suite[] = [
  sound,
  reportedHistories,
  recordedCuts,
  updates,
  streams,
  refusals,
  summaries,
  windows,
  server,
  kills,
  aborts,
  resumes,
  repeats,
  keys,
  nested,
];
