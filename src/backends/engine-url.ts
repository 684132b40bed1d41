/** The base address of an engine, without a trailing slash. Error messages never contain the address. */
import * as z from "zod";

export const EngineUrl = z.string().transform((text, context) => {
	const refuse = (found: string) => {
		context.addIssue(`expected the http or https address of an engine, found ${found}`);
		return z.NEVER;
	};
	const url = URL.parse(text);
	if (!url) return refuse("text that is not an address");
	if (!/^https?:$/.test(url.protocol))
		return refuse("an address that does not begin with http:// or https://");
	if (url.username || url.password) return refuse("one with credentials (name a secret in key or headers)");
	// An empty query or fragment too, which `search` and `hash` do not show.
	if (/[?#]/.test(text)) return refuse(text.includes("?") ? "one with a query" : "one with a fragment");
	return url.href.replace(/\/+$/, "");
});
