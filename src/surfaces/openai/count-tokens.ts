/** Counts the tokens of a chat request's prompt by the gateway's own estimate, for the routes that only count tokens. */
import type { Context } from "hono";
import { onlyFor, type RouteDialect, requireModel } from "../../dialects/route-dialect.ts";
import { readJson } from "../../http/body.ts";
import { countRequest } from "../../http/count-request.ts";
import { parse } from "../../pipeline/prepare.ts";
import { type ResolvedModel, requireKey, resolveModel } from "../../pipeline/resolve-model.ts";
import { countInput } from "../../tasks/traits.ts";
import { type CountedChat, type SearchFormat, withSearchTexts } from "../../websearch/with-web-search.ts";
import type { AppCall } from "../route.ts";

/** `fields`: the body of the chat request. `isLenient`: they are validated as without a route. Throws 2021 as a request does. */
export async function countPromptTokens(
	{ fields, dialect }: CountedChat,
	{ model, routed }: ResolvedModel,
	{ isLenient = false } = {},
): Promise<number> {
	const { call } = await parse({ fields }, dialect, { model, routed: isLenient ? undefined : routed });
	requireKey({ model, routed });
	const tokens = countInput(call);
	if (tokens === undefined) throw new TypeError(`The request was read as ${call.task}`);
	return tokens;
}

interface Counted {
	route: RouteDialect;
	search: SearchFormat;
	/** Required fields that a request for a token count omits. */
	defaults?: object;
	/** Replaces fields that refer to stored objects. */
	complete?(fields: { model: string }): Promise<object>;
}

/** Counts the tokens of the body of a request for a route. */
export async function countBody(
	c: Context,
	{ caller, services }: AppCall,
	{ route, search, defaults = {}, complete }: Counted,
): Promise<number> {
	await countRequest("Token Count", caller, services);
	const fields = requireModel(await readJson(c.req.raw, services));
	const resolved = await resolveModel(fields.model, caller, services);
	const dialect = await onlyFor(route)(resolved.model);
	const whole = complete ? await complete(fields) : fields;
	const sent = { fields: { ...defaults, ...whole }, dialect };
	const counted = await withSearchTexts(sent, { name: search, account: caller.account }, services);
	return countPromptTokens(counted, resolved, { isLenient: true });
}
