/** Tokens of a chat request without an answer, by the gateway's own count: for the routes that only count. */
import type { Reader } from "../dialects/dialect.ts";
import type { Model } from "../models/model.ts";
import { parse } from "../pipeline/parse.ts";
import { countInput } from "../tasks/traits.ts";

/** `fields`: the body of the request whose prompt is counted. */
export async function countPrompt(
	fields: unknown,
	reader: Reader,
	{ model, strict = false }: { model: Model; strict?: boolean },
): Promise<number> {
	const { call } = await parse({ fields }, reader, { model, strict });
	const tokens = countInput(call);
	if (tokens === undefined) throw new TypeError(`The request was read as ${call.task}`);
	return tokens;
}
