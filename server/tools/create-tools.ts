import { type StructuredToolInterface, tool } from "@langchain/core/tools";
import { z } from "zod/v4";
import { createCalculatorTool } from "./calculator.js";
import { createSaveNoteTool, createSearchNotesTool } from "./notes.js";
import { createWeatherTool, type WeatherOptions } from "./weather.js";

/** The tools of the served graph. None needs a key. Only the weather needs a network. */
export function createDeployTools(weather: WeatherOptions = {}): StructuredToolInterface[] {
  return [
    createCalculatorTool(),
    createCurrentTimeTool(),
    createWeatherTool(weather),
    createSaveNoteTool(),
    createSearchNotesTool(),
  ];
}

const currentTimeSchema = z.object({
  timezone: z
    .string()
    .optional()
    .describe('IANA name of a time zone, such as "Asia/Tokyo". UTC if left out.'),
});

/** @param now Contract: returns the current time; must not throw. */
export function createCurrentTimeTool({ now = () => new Date() } = {}) {
  return tool(
    ({ timezone }) => {
      const zone = timezone?.trim() || "UTC";
      return `${createFormat(zone).format(now())} (${zone})`;
    },
    {
      name: "current_time",
      description: "Tells the current date and time in a time zone.",
      schema: currentTimeSchema,
    },
  );
}

function createFormat(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long", timeZone });
  } catch {
    throw new Error(
      `Unknown time zone "${timeZone}". Expected an IANA name such as "Europe/Paris" or "UTC".`,
    );
  }
}
