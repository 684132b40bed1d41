/**
 * Cloudflare's Web Search: `POST /client/v4/accounts/{account}/ai/websearch/`, and `env.AI.websearch(…)` over RPC. A search runs in a
 * gateway of the account, with its cache, limits, rules and logs. Its answer has no envelope.
 *
 * Choices where the product documents nothing: `error.category`, `error.message`, the form of `messages[].path`, and the names of the
 * provider and the model in the gateway's log.
 */
import type { Context } from "hono";
import * as z from "zod";
import { type AiError, toAiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import type { GatewayExchange, RequestSource } from "../../gateways/exchange.ts";
import { sourceOf } from "../../gateways/exchange.ts";
import { type GatewayOptions, optionsInHeaders } from "../../gateways/options.ts";
import type { GatewayStep, StepPlan } from "../../gateways/request.ts";
import { type PlanContext, runInGateway } from "../../gateways/run/run-in-gateway.ts";
import { usageObserver } from "../../gateways/run/usage-observer.ts";
import { readJson } from "../../http/body.ts";
import { failureEnvelope, failureHeaders, REQUEST_ID } from "../../http/envelope.ts";
import { inOwnContext } from "../../http/own-context.ts";
import type { Base } from "../../http/route.ts";
import type { Caller } from "../../pipeline/request.ts";
import { expectedName, explain } from "../../schemas/explain.ts";
import { curableIssues } from "../../schemas/misnamed.ts";
import { safeParse } from "../../schemas/safe-parse.ts";
import { type ChosenProvider, chooseProvider, providerNames } from "../../websearch/choose-provider.ts";
import { SearchError } from "../../websearch/failures.ts";
import { search } from "../../websearch/search.ts";
import { answer } from "../answer.ts";
import { AI, below } from "../bases.ts";
import { gatewayFailure } from "../gateway/gateway-failure.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import type { AppServices } from "../services.ts";

const MAX_QUERY_CHARACTERS = 1_024;
const MAX_LIMIT = 10;
const INVALID_CODE = 7_000;

const SearchFields = lazy(() =>
	z.object({
		query: z.string().trim().min(1).max(MAX_QUERY_CHARACTERS),
		provider: z.string().optional(),
		limit: z.int().min(1).max(MAX_LIMIT).default(MAX_LIMIT),
		byokAlias: z
			.string()
			.regex(/^[A-Za-z0-9_-]{1,64}$/, "expected 1 to 64 letters, digits, _ or -")
			.optional(),
	}),
);
const GatewayName = lazy(() => z.string().min(1));
const SearchBody = lazy(() =>
	SearchFields().extend({ options: z.object({ gateway: z.object({ id: GatewayName() }) }) }),
);
const BindingRequest = lazy(() => SearchFields().extend({ gatewayId: GatewayName() }));

const searchRoutes = (base: Base, tag: string, type: RequestSource["type"]): readonly AppRoute[] =>
	defineRoutes({ bases: [below(base, "/websearch")], tag, failure: searchFailure }, [
		{
			method: "POST",
			path: "",
			summary: "Searches the web",
			input: {
				type: "application/json",
				schema: SearchBody,
				example: { query: "Durable Objects", limit: 3, options: { gateway: { id: "default" } } },
			},
			output: answer("webSearchAnswer"),
			permission: "run",
			handler: (c, call) => searchOverHttp(c, call, type),
		},
	]);

export const webSearchRoutes = searchRoutes(AI, "Web search", "REST");
/** For `env.AI.websearch` where no response can be returned over RPC (`miniflare/node-stub.ts`). */
export const wireSearchRoutes = searchRoutes({ path: "" }, "Binding", "Workers AI Binding");

interface SearchCall extends z.infer<ReturnType<typeof SearchFields>> {
	id: string;
	caller: Caller;
	gateway: string;
	options: GatewayOptions;
	source: RequestSource;
	signal: AbortSignal;
}

async function searchOverHttp(
	c: Context,
	{ id, caller, services }: AppCall,
	type: RequestSource["type"],
): Promise<Response> {
	const { headers, signal } = c.req.raw;
	const parsed = parse(SearchBody(), await readJson(c.req.raw, services), services);
	if (parsed instanceof Response) return parsed;
	const { options, ...fields } = parsed;
	const source = sourceOf(type, headers);
	const gateway = options.gateway.id;
	return answerSearch(
		{ ...fields, id, caller, gateway, options: optionsInHeaders(headers), source, signal },
		services,
	);
}

/** Never throws: as in the product, the binding returns failures as responses. */
export const searchOverRpc = (
	request: unknown,
	call: { caller: Caller; headers: Headers },
	services: AppServices,
): Promise<Response> => inOwnContext((left) => searchHeld(request, { ...call, signal: left }, services));

async function searchHeld(
	request: unknown,
	{ caller, headers, signal }: { caller: Caller; headers: Headers; signal: AbortSignal },
	services: AppServices,
): Promise<Response> {
	const id = services.uuid();
	try {
		const parsed = parse(BindingRequest(), request, services);
		if (parsed instanceof Response) return parsed;
		const { gatewayId: gateway, ...fields } = parsed;
		const source: RequestSource = { type: "Workers AI Binding" };
		return await answerSearch(
			{ ...fields, id, caller, gateway, options: optionsInHeaders(headers), source, signal },
			services,
		);
	} catch (thrown) {
		const error = toAiError(thrown);
		services.log(error, id);
		return searchFailure(error, id);
	}
}

function parse<T extends { provider?: string | undefined }>(
	schema: z.ZodType<T>,
	fields: unknown,
	{ webSearch }: AppServices,
): T | Response {
	const { data, error } = safeParse(schema, fields, { error: explain });
	if (error) return invalid(curableIssues(error.issues, schema, fields));
	const names = providerNames(webSearch);
	if (data.provider === undefined || names.includes(data.provider)) return data;
	return invalid([{ path: ["provider"], message: expectedName(names, data.provider) }]);
}

const invalid = (issues: readonly Pick<z.core.$ZodIssue, "message" | "path">[]): Response =>
	Response.json(
		{
			success: false,
			errors: [{ code: INVALID_CODE, message: "Invalid request" }],
			messages: issues.map(({ message, path }) => ({ message, path })),
		},
		{ status: 400 },
	);

function answerSearch(call: SearchCall, services: AppServices): Promise<Response> {
	const { id, caller, gateway, options, source, signal } = call;
	let gatewayRequestId = id;
	return runInGateway(
		{
			caller,
			gateway,
			options,
			source,
			signal,
			plan(context) {
				gatewayRequestId = context.exchange.id;
				return planOf(call, context, services);
			},
			failure: (error) => failureResponse(error, { id, gatewayRequestId }),
		},
		services,
	);
}

async function* planOf(
	call: SearchCall,
	{ account, caller, options, settings, exchange }: PlanContext,
	services: AppServices,
): StepPlan {
	const { query, provider: name, limit, byokAlias: alias } = call;
	exchange.report({ path: PATH, ...(name !== undefined && { provider: name }) });
	const { keys } = await services.providerAccesses.find(account, settings.id);
	const chosen = chooseProvider({ name, alias, keys }, services.webSearch);
	let attempts = 0;
	const step: GatewayStep = {
		provider: chosen.provider.name,
		endpoint: PATH,
		model: chosen.provider.model.id,
		body: { contentType: "application/json", content: { json: { query, limit } } },
		format: "web-search",
		plane: "run",
		providerKey: chosen.identity,
		keyLimit: chosen.keyLimit,
		options,
		// The account accepts each id once.
		call: (signal) =>
			answerOnce(
				{ ...call, caller, id: attempts++ === 0 ? call.id : services.uuid(), signal },
				{ chosen, exchange },
				services,
			),
	};
	yield { step, index: 0 };
}

const PATH = "websearch";

async function answerOnce(
	{ id, caller, query, limit, signal }: SearchCall,
	{ chosen, exchange }: { chosen: ChosenProvider; exchange: GatewayExchange },
	services: AppServices,
): Promise<Response> {
	const startedAt = services.now();
	try {
		const items = await search({ id, caller, query, limit, signal }, chosen, services);
		usageObserver(exchange).used(chosen.usd);
		const metadata = { query, requestId: id, latencyMs: services.now() - startedAt };
		return Response.json(
			{ items, metadata },
			{ headers: { [REQUEST_ID]: id, "x-ganglion-backend": chosen.provider.name } },
		);
	} catch (thrown) {
		const error = toAiError(thrown);
		// The failure of the provider is its cause, which the search has reported.
		services.log(thrown instanceof SearchError ? toAiError(thrown.cause) : error, id);
		return failureResponse(error, { id, gatewayRequestId: exchange.id });
	}
}

function searchFailure(error: AiError, id: string): Response {
	return failureResponse(error, { id, gatewayRequestId: id });
}

/** Failures of AI Gateway, of the credential and of the address have the formats of other routes. */
function failureResponse(
	error: AiError,
	{ id, gatewayRequestId }: { id: string; gatewayRequestId: string },
): Response {
	const { cause } = error;
	const { plane } = error.failure;
	if (plane === "gateway") return gatewayFailure(error, id);
	if (plane === "edge") return failureEnvelope(error, id);
	const failed = cause instanceof SearchError ? cause : failureOfAccount(error);
	const { category, code, status, retryable } = failed.failure;
	const headers = failureHeaders(error, id);
	if (failed.retryAfter !== undefined) headers.set("retry-after", String(Math.ceil(failed.retryAfter)));
	return Response.json(
		{
			ok: false,
			error: { category, code, status, retryable, gatewayRequestId, message: failed.message },
		},
		{ status, headers },
	);
}

/** The account refuses the search, or the request cannot be read. */
function failureOfAccount({ description, retryAfter, status }: AiError): SearchError {
	if (status === 429) return new SearchError("rateLimited", description, { retryAfter });
	return status < 500 ? new SearchError("invalidInput", description) : new SearchError("unavailable");
}
