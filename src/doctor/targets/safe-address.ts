const HIDDEN = "***";

/** An address without its password, and without the values of parameters that can be secrets. For reports and errors. */
export function safeAddress(address: string): string {
  if (!URL.canParse(address))
    return address.includes("@") ? `${HIDDEN}${address.slice(address.lastIndexOf("@"))}` : address;
  const url = new URL(address);
  if (url.password !== "") url.password = HIDDEN;
  for (const name of url.searchParams.keys())
    if (/pass|key|token|secret|sig/i.test(name)) url.searchParams.set(name, HIDDEN);
  return url.href.replace(/\/$/, "");
}

/** Contract: returns the text without the secrets. */
export type HideSecrets = (text: string) => string;

/**
 * Hides secrets that an error can repeat: the password of an address, also as it is written in the address, and other
 * values.
 */
export function hideSecrets(address: string | undefined, others: readonly string[] = []): HideSecrets {
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
  const password = url?.password ?? "";
  const secrets = [password, decode(password), ...others].filter((secret) => secret.length > 2);
  return (text) => {
    const whole = address === undefined ? text : text.replaceAll(address, safeAddress(address));
    return secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), whole);
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
