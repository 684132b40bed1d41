/** Counts the tokens of a chat request's prompt by the gateway's own estimate, for the routes that only count tokens. */
import type { Dialect } from "../../dialects/dialect.ts";
import { parse } from "../../pipeline/prepare.ts";
import type { ResolvedModel } from "../../pipeline/resolve-model.ts";
import { countInput } from "../../tasks/traits.ts";

/** `fields`: the body of the chat request. If `resolved.routed` is absent, the fields are validated leniently. */
export async function countPromptTokens(
	fields: unknown,
	dialect: Dialect,
	resolved: ResolvedModel,
): Promise<number> {
	const { call } = await parse({ fields }, dialect, resolved);
	const tokens = countInput(call);
	if (tokens === undefined) throw new TypeError(`The request was read as ${call.task}`);
	return tokens;
}
