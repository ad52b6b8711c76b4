/** A command line of the user, with the text after the command's name. */
export interface TypedCommand {
  readonly name: string;
  readonly words: string;
}

const APPROVAL_HELP = `/approve, /reject [why], /edit {"argument": …} and /respond text
          decide the call that waits for approval; a message instead declines it`;

export const COMMAND_HELP = `/history  shows the thread
/new      begins a new thread
${APPROVAL_HELP}
/help     shows these lines
/quit     ends the chat, as Ctrl-D and Ctrl-C do; during a run, Ctrl-C cancels the run`;

/** @returns undefined for a message to the agent. A path such as `/etc/hosts` is not a command. */
export function readCommand(line: string): TypedCommand | undefined {
  const [, name, words = ""] = /^\/(\w*)(?:\s+(.*))?$/su.exec(line.trim()) ?? [];
  return name === undefined ? undefined : { name, words };
}
