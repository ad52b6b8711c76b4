import { BaseCallbackHandler } from "@langchain/core/callbacks/base";

/** A callback that notes the tokens and the texts of a run's models. */
export class Listener extends BaseCallbackHandler {
  readonly name = "listener";
  readonly tokens: string[] = [];
  readonly ended: string[] = [];

  /** @param isPreferring Whether LangChain streams for it. Other callbacks only get the tokens that there are. */
  constructor(isPreferring = true) {
    super();
    if (isPreferring) Object.assign(this, { lc_prefer_streaming: true });
  }

  override handleLLMNewToken(token: string): void {
    this.tokens.push(token);
  }

  override handleLLMEnd({ generations }: { generations: { text: string }[][] }): void {
    this.ended.push(generations[0]?.[0]?.text ?? "");
  }
}
