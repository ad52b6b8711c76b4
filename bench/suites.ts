/** The suites, in the order of the results. */

import type { Suite } from "./suite.js";
import { bytes } from "./suites/bytes.js";
import { doctor } from "./suites/doctor.js";
import { imports } from "./suites/import.js";
import { lived } from "./suites/lived.js";
import { middleware } from "./suites/middleware.js";
import { modelInput } from "./suites/model-input.js";
import { recovery } from "./suites/recovery.js";
import { reducer } from "./suites/reducer.js";
import { repair } from "./suites/repair.js";
import { serializer } from "./suites/serializer.js";
import { served } from "./suites/served.js";
import { shortRun, shortRunInPostgres } from "./suites/short-run.js";
import { streamed } from "./suites/streamed.js";
import { summaries } from "./suites/summaries.js";
import { tokens } from "./suites/tokens.js";
import { turn, turnPostgres, turnSqlite } from "./suites/turn.js";
import { workers } from "./suites/workers.js";

export const SUITES: readonly Suite[] = [
  turn,
  turnSqlite,
  turnPostgres,
  lived,
  bytes,
  shortRun,
  shortRunInPostgres,
  served,
  streamed,
  workers,
  recovery,
  reducer,
  repair,
  modelInput,
  serializer,
  middleware,
  summaries,
  tokens,
  doctor,
  imports,
];
