const SETTING_ERROR = /^error:\s+▪\s+(?:TetherError|Invalid(?:Setting|Model|Tool)Error): (?<message>.+)$/mu;

/**
 * The error about the user's own settings in the output of a development server that could not start, in one line.
 * Undefined if it failed for another reason. Then the complete output is needed.
 */
export function findSettingError(output: string): string | undefined {
  return SETTING_ERROR.exec(output)?.groups?.["message"];
}
