/**
 * The limits of a gateway: requests per time (2003), requests with a stored key per time (2003), and spend rules (2045). They are behind
 * the cache, so a cached answer does not count. A request calls the gateway's object once for its limits, and only if there are any. The
 * cost of a request is known when its answer has ended: it is added then, and no running stream is interrupted.
 */
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { TOKEN_KEY } from "../bound-options.ts";
import type { GatewayLimits } from "../client/gateway-limits.ts";
import type { LimitedWindow } from "../durable/gateway.ts";
import type { EndObserver } from "../ended-request.ts";
import type { GatewayFacts } from "../exchange.ts";
import { spendOf } from "../logs/cost.ts";
import { type GatewayMiddleware, type GatewayRequest, type GatewayStep, WORKERS_AI } from "../request.ts";
import type { GatewaySettings, SpendRule } from "../settings.ts";

interface Limit {
	window: LimitedWindow;
	failure(): AiError;
}

/** For one request. Its first step counts. */
export function limitMiddleware({ gatewayLimits }: { gatewayLimits: GatewayLimits }): GatewayMiddleware {
	let isCounted = false;
	return async (request, next) => {
		const { account, settings, step } = request;
		const limits = [
			...(isCounted ? [] : rateLimits(settings)),
			...keyLimits(step),
			...spendLimits(settings, step),
		];
		if (limits.length > 0) {
			const windows = limits.map(({ window }) => window);
			const full = await gatewayLimits.take({ account, settings }, windows);
			const limit = full === undefined ? undefined : limits[full];
			if (limit) throw limit.failure();
			isCounted = true;
		}
		return next(request);
	};
}

/** Adds the cost of a request to the windows of the rules that apply to its last step. */
export const spendObserver =
	({ gatewayLimits }: { gatewayLimits: GatewayLimits }): EndObserver =>
	({ exchange, end, settings, step }) => {
		if (step) spend(end, { exchange, settings, step }, gatewayLimits);
	};

/** A model may have answered a step, and a guardrail refused its answer. Then the next step has usage of its own. */
export function spendBeforeNextStep(
	request: Pick<GatewayRequest, "exchange" | "settings" | "step">,
	{ gatewayLimits }: { gatewayLimits: GatewayLimits },
): void {
	const { exchange } = request;
	if (!exchange.facts.usage) return;
	spend(exchange.facts, request, gatewayLimits);
	exchange.resetUsage();
}

function spend(
	facts: GatewayFacts,
	{ exchange: { account }, settings, step }: Pick<GatewayRequest, "exchange" | "settings" | "step">,
	gatewayLimits: GatewayLimits,
): void {
	const windows = spendLimits(settings, step).map(({ window }) => window);
	gatewayLimits.spend({ account, settings }, windows, spendOf(facts, step.options));
}

function rateLimits({
	rate_limiting_interval,
	rate_limiting_limit,
	rate_limiting_technique,
}: GatewaySettings): Limit[] {
	if (!rate_limiting_interval || !rate_limiting_limit) return [];
	const windowMs = rate_limiting_interval * 1_000;
	return [
		{
			window: {
				key: JSON.stringify(["rate", windowMs]),
				windowMs,
				technique: rate_limiting_technique ?? "fixed",
				limit: rate_limiting_limit,
				unit: "count",
			},
			failure: () => new AiError("gatewayLimited"),
		},
	];
}

/** Each step with the key counts. The product's windows of a key are not documented: they are those of a gateway. */
function keyLimits({ keyLimit }: GatewayStep): Limit[] {
	if (!keyLimit) return [];
	const { id, provider, alias, requests, windowMs } = keyLimit;
	return [
		{
			window: {
				key: JSON.stringify(["key", id, windowMs]),
				windowMs,
				technique: "fixed",
				limit: requests,
				unit: "count",
			},
			failure: () =>
				new AiError(
					"gatewayLimited",
					`Rate limited: the stored key '${alias}' of ${provider} has ${requests} requests per ${windowMs / 1_000}s`,
				),
		},
	];
}

/** The spend rules that apply to a step. */
function spendLimits({ spend_limits }: GatewaySettings, step: GatewayStep): Limit[] {
	if (!spend_limits?.enabled) return [];
	return spend_limits.rules.flatMap((rule, index) => {
		const bucket = rule.enabled === false ? undefined : bucketOf(rule, step);
		return bucket ? [spendLimit(rule, { id: rule.id ?? String(index), bucket, step })] : [];
	});
}

function spendLimit(
	{ limit, window, technique = "fixed" }: SpendRule,
	{ id, bucket, step }: { id: string; bucket: readonly string[]; step: GatewayStep },
): Limit {
	const windowMs = window * 1_000;
	// The product's name of Workers AI in this message.
	const served = providerOf(step);
	const provider = served === WORKERS_AI ? `internal-${WORKERS_AI}` : served;
	return {
		window: {
			key: JSON.stringify(["spend", id, windowMs, ...bucket]),
			windowMs,
			technique,
			limit,
			unit: "cost",
		},
		failure: () =>
			new AiError(
				"spendLimited",
				`Spend limit exceeded: rule '${id}' (cost limit ${limit} per ${window}s, ${technique}) for ${provider} ${modelOf(step)}`,
			),
	};
}

/** The values of the rule's partitions. `undefined`: the rule does not apply to the step. */
function bucketOf({ metadata = {}, model, provider }: SpendRule, step: GatewayStep): string[] | undefined {
	if (model && !namesOf(step).some((name) => model.values.includes(name))) return undefined;
	if (provider && !provider.values.some((value) => value.replace(/^internal-/, "") === providerOf(step)))
		return undefined;
	const bucket: string[] = [];
	for (const [key, dimension] of Object.entries(metadata)) {
		const value = key === TOKEN_KEY ? step.options.token : step.options.metadata?.[key];
		if (value === undefined) return undefined;
		if (dimension.mode === "partition") bucket.push(key, String(value));
		else if (!dimension.values.includes(String(value))) return undefined;
	}
	return bucket;
}

const providerOf = ({ compat, provider }: GatewayStep): string => compat?.provider ?? provider;

/** The names of a step's model: with and without its provider, and its id in the catalogue. */
function namesOf(step: GatewayStep): string[] {
	const name = modelOf(step);
	const isAuthored = step.plane === "run" && !name.startsWith("@");
	const bare = isAuthored ? name.slice(name.indexOf("/") + 1) : name;
	return [name, bare, `${providerOf(step)}/${bare}`, step.modelId ?? name];
}

/** The model that a step names: itself, in its body, or in the path of Workers AI. Empty: none. */
function modelOf({ compat, model, provider, endpoint, body: { content } }: GatewayStep): string {
	const named = model ?? compat?.model;
	if (named !== undefined) return named;
	if ("json" in content && isRecord(content.json) && typeof content.json.model === "string")
		return content.json.model;
	return provider === WORKERS_AI ? endpoint.replace(/^\/*(?:run\/)?/, "").replace(/\?.*$/, "") : "";
}
