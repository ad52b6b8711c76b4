/** The tools of the served graph. */

import type { StructuredToolInterface } from "@langchain/core/tools";
import { createCalculatorTool } from "./calculator.js";
import { createSaveNoteTool, createSearchNotesTool } from "./notes.js";
import { createWeatherTool, type WeatherOptions } from "./weather.js";

/** The tools of the served graph. None needs a key. Only the weather needs a network. */
export function createDeployTools(weather: WeatherOptions = {}): StructuredToolInterface[] {
  return [createCalculatorTool(), createWeatherTool(weather), createSaveNoteTool(), createSearchNotesTool()];
}
