const SETTING_ERROR = /^error:\s+▪\s+(?:TetherError|Invalid(?:Setting|Model|Tool)Error): (?<message>.+)$/mu;

/**
 * What a development server that could not start has to say of the user's own settings, in one line; undefined if it
 * failed for another reason, which its whole output tells.
 */
export function findSettingError(output: string): string | undefined {
  return SETTING_ERROR.exec(output)?.groups?.["message"];
}
