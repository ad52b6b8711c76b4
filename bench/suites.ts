/** The suites, in the order of the results. */

import type { Suite } from "./suite.js";
import { bytes } from "./suites/bytes.js";
import { doctor } from "./suites/doctor.js";
import { imports } from "./suites/import.js";
import { middleware } from "./suites/middleware.js";
import { modelInput } from "./suites/model-input.js";
import { recovery } from "./suites/recovery.js";
import { reducer } from "./suites/reducer.js";
import { repair } from "./suites/repair.js";
import { serializer } from "./suites/serializer.js";
import { served } from "./suites/served.js";
import { shortRun } from "./suites/short-run.js";
import { summaries } from "./suites/summaries.js";
import { turn, turnPostgres, turnSqlite } from "./suites/turn.js";

export const SUITES: readonly Suite[] = [
  turn,
  turnSqlite,
  turnPostgres,
  bytes,
  shortRun,
  served,
  recovery,
  reducer,
  repair,
  modelInput,
  serializer,
  middleware,
  summaries,
  doctor,
  imports,
];
