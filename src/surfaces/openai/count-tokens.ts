/** Counts the tokens of a chat request's prompt by the gateway's own estimate, for the routes that only count tokens. */
import type { Context } from "hono";
import type { Dialect } from "../../dialects/dialect.ts";
import { readJson } from "../../http/body.ts";
import type { Call } from "../../http/route.ts";
import { parse } from "../../pipeline/prepare.ts";
import { type ResolvedModel, resolveModel } from "../../pipeline/resolve-model.ts";
import { countInput } from "../../tasks/traits.ts";
import { countRequest } from "../rate-limited.ts";
import { onlyFor, type RouteDialect, requireModel } from "./route-dialect.ts";

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

interface Counted {
	route: RouteDialect;
	/** Required fields that a request for a token count omits. */
	defaults?: object;
	/** Replaces fields that refer to stored objects. */
	complete?(fields: { model: string }): Promise<object>;
}

/** Counts the tokens of the body of a request for a route. */
export async function countBody(
	c: Context,
	{ caller, services }: Call,
	{ route, defaults = {}, complete }: Counted,
): Promise<number> {
	await countRequest("Token Count", caller, services);
	const fields = requireModel(await readJson(c.req.raw, services));
	const { model } = await resolveModel(fields.model, caller, services);
	const dialect = await onlyFor(route)(model);
	const whole = complete ? await complete(fields) : fields;
	return countPromptTokens({ ...defaults, ...whole }, dialect, { model, routed: undefined });
}
