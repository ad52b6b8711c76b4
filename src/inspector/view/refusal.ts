/** An error that the inspector answers with this status. */
export function refusal(status: number, message = ""): Error {
  return Object.assign(new Error(message), { status });
}
