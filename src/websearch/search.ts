/**
 * Runs one search: admits it at the account, calls the provider, and settles it. It passes the same exchange as a request of a model,
 * with the provider as its model: credential, rate, budgets and the ledger's record are the same. A failed search costs nothing. A
 * search whose caller has left after it was sent is charged, because the provider charges it.
 */
import type { Admission } from "../accounts/admission.ts";
import { getJson, postJson } from "../backends/transport/http.ts";
import { toAiError } from "../core/errors.ts";
import { exact } from "../counting/quantities.ts";
import { SEARCH_CALL } from "../outbound/limits.ts";
import { admitExchange } from "../pipeline/admit.ts";
import { Exchange } from "../pipeline/exchange.ts";
import { limitsOf, rulesOf } from "../pipeline/limits.ts";
import type { InferenceRequest, Served } from "../pipeline/request.ts";
import type { PipelineServices } from "../pipeline/services.ts";
import { failureOfProvider, SearchError } from "./failures.ts";
import { boundedItems } from "./items.ts";
import type { SearchItem, SearchProvider, SearchQuery } from "./provider.ts";
import { SEARCH_PROVIDERS } from "./providers/index.ts";
import type { ConfiguredProvider } from "./settings.ts";
import { SIMULATOR, simulatedItems } from "./simulated-search.ts";

/** The title in `LIMITS.requests_per_minute`. */
const TASK = "Web Search";

export interface SearchRequest
	extends Pick<InferenceRequest, "id" | "caller" | "signal" | "observers">,
		SearchQuery {}

/** Throws a `SearchError` if the provider fails, and an `AiError` if the account refuses the search. */
export async function search(
	request: SearchRequest,
	chosen: { provider: ConfiguredProvider; isOwnKey: boolean },
	services: PipelineServices,
): Promise<SearchItem[]> {
	const { provider } = chosen;
	const exchange = new Exchange(request, services);
	const served: Served = { backend: provider.name, model: provider.model.id, attempts: 1, wasted: [] };
	try {
		const admission = admissionOf(request, provider, services);
		await admitExchange(exchange, { admission, model: provider.model });
		const items = await found(request, chosen, services);
		exchange.complete("ok", { measured: exact({}), served });
		return items;
	} catch (thrown) {
		const isSent = exchange.state === "admitted" && provider.kind !== SIMULATOR;
		if (request.signal.aborted && isSent) exchange.complete("cancelled", { measured: exact({}), served });
		const failure = exchange.fail(thrown instanceof SearchError ? thrown.cause : thrown);
		throw thrown instanceof SearchError && !request.signal.aborted ? thrown : failure;
	}
}

function admissionOf(
	{ id, caller: { account, credential } }: SearchRequest,
	{ model }: ConfiguredProvider,
	{ limits }: PipelineServices,
): Admission {
	const accountLimits = limitsOf(limits, account);
	const { requestsPerMinute }: { requestsPerMinute: Partial<Record<string, number>> } = accountLimits;
	const perMinute = accountLimits.models.get(model.id)?.requestsPerMinute ?? requestsPerMinute[TASK];
	const [price] = model.prices;
	return {
		ticket: id,
		credential,
		model: model.id,
		task: TASK,
		rates: perMinute === undefined ? [] : [{ key: `task:${TASK}`, perMinute }],
		budgets: rulesOf(model, accountLimits).budgets,
		cost: {
			fixedMicroNeurons: Math.ceil((price?.neurons ?? 0) * 1_000_000),
			microNeuronsPerOutputToken: 0,
			outputTokens: 0,
			outputUnbounded: false,
		},
		holdMs: limits.holdMs,
	};
}

async function found(
	{ signal, query, limit, allowedDomains, blockedDomains, country }: SearchRequest,
	{ provider, isOwnKey }: { provider: ConfiguredProvider; isOwnKey: boolean },
	services: PipelineServices,
): Promise<SearchItem[]> {
	if (provider.kind === SIMULATOR) return simulatedItems({ query, limit });
	const row: SearchProvider = SEARCH_PROVIDERS[provider.kind];
	const asked = {
		query,
		limit,
		...(allowedDomains?.length && { allowedDomains }),
		...(blockedDomains?.length && { blockedDomains }),
		...(country !== undefined && { country }),
	};
	const { path, json } = row.request(asked);
	const target = targetOf(provider, row);
	const call = { target, services, signal, model: provider.model, withoutTrace: true } as const;
	try {
		const sent = json ? postJson(call, path, json, row.answer()) : getJson(call, path, row.answer());
		return boundedItems(await sent, asked);
	} catch (thrown) {
		throw failureOfProvider(toAiError(thrown), { isOwnKey, refusals: row.refusals });
	}
}

function targetOf({ name, kind, url, key, model }: ConfiguredProvider, { keyHeader }: SearchProvider) {
	const isBearer = keyHeader === "authorization";
	return {
		backend: name,
		kind,
		url,
		model: model.id,
		headers: !isBearer && keyHeader !== undefined && key !== undefined ? { [keyHeader]: key } : {},
		timeouts: SEARCH_CALL,
		...(isBearer && key !== undefined && { key }),
	};
}
