/**
 * Checks that the engines match the configuration: each address answers, accepts the key and has the models, and the models have a
 * price and the context window of the catalogue. Sends only GET requests, one list per address.
 */
import * as z from "zod";
import type { BackendKind } from "../../src/backends/kinds.ts";
import type { Config } from "../../src/config/index.ts";
import { didYouMean } from "../../src/core/did-you-mean.ts";
import type { ConfiguredBackend } from "../../src/pipeline/plan.ts";
import { isExact, type Route } from "../../src/pipeline/route.ts";
import { ListError, parseReplicaList } from "../../src/pools/replica-list.ts";
import { isOwnEngine } from "../../src/providers/billing.ts";
import { codeOf } from "../file-failure.ts";

export interface Finding {
	backend: string;
	/** Empty if the finding is not about an address. */
	url: string;
	check:
		| ("list" | "reachable" | "key" | "address" | "model" | "price" | "context")
		| ("storage" | "disk" | "state" | "files")
		| ("gateways" | "guard" | "collector")
		| ("llama-server" | "weights" | "packages");
	/** `warning`: works, but may be a mistake. */
	result: "ok" | "failed" | "warning";
	detail: string;
}

interface ListedModel {
	name: string;
	contextWindow?: number;
}

interface Listing {
	path: string;
	headers(key: string): Record<string, string>;
	/** `undefined`: the answer is not a list of models. Absent: the engine has no list. */
	models?(body: unknown): ListedModel[] | undefined;
}

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

const OpenAi = z.looseObject({
	data: z.array(
		z.looseObject({
			id: z.string(),
			max_model_len: z.number().nullish(),
			meta: z.looseObject({ n_ctx: z.number().nullish() }).nullish(),
		}),
	),
});
const Named = z.looseObject({ models: z.array(z.looseObject({ name: z.string() })) });

const openAiModels = (body: unknown): ListedModel[] | undefined =>
	OpenAi.safeParse(body).data?.data.map(({ id, max_model_len, meta }) => {
		const contextWindow = max_model_len ?? meta?.n_ctx;
		return { name: id, ...(contextWindow && { contextWindow }) };
	});

/** By the kind of the backend. */
const LISTINGS: Readonly<Record<string, Listing>> = {
	openai: { path: "/models", headers: bearer, models: openAiModels },
	anthropic: {
		path: "/v1/models?limit=1000",
		headers: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
		models: openAiModels,
	},
	gemini: {
		path: "/v1beta/models?pageSize=1000",
		headers: (key) => ({ "x-goog-api-key": key }),
		models: (body) =>
			Named.safeParse(body).data?.models.map(({ name }) => ({ name: name.replace(/^models\//, "") })),
	},
	ollama: {
		path: "/api/tags",
		headers: bearer,
		models: (body) =>
			Named.safeParse(body).data?.models.map(({ name }) => ({ name: name.replace(/:latest$/, "") })),
	},
	tei: { path: "/info", headers: bearer },
	cog: { path: "/health-check", headers: bearer },
	"workers-ai": { path: "/models/search?per_page=1", headers: bearer },
} satisfies Partial<Record<BackendKind, Listing>>;

export const TIMEOUT_MS = 5_000;

type Fetch = typeof fetch;
type Checked = Pick<Config, "backends" | "catalog" | "routing">;

export async function examine(config: Checked, fetcher: Fetch = fetch): Promise<Finding[]> {
	const engines = [...config.backends.values()].filter(({ kind, binding }) => LISTINGS[kind] && !binding);
	const found = await Promise.all(
		engines.map(async (backend) => {
			const { urls, findings } = await addressesOf(backend, fetcher);
			const examined = urls.map((url) => examineAddress(backend, url, config, fetcher));
			return [...findings, ...(await Promise.all(examined)).flat()];
		}),
	);
	return [...found.flat(), ...prices(config)];
}

interface Addresses {
	urls: readonly string[];
	findings: Finding[];
}

/** Those of the configuration, or those that the service of `pool.discover` lists. */
async function addressesOf({ backend, urls, pool }: ConfiguredBackend, fetcher: Fetch): Promise<Addresses> {
	const configured = urls.filter((url) => url !== "");
	if (!pool?.discover) return { urls: configured, findings: [] };
	const { url, path } = pool.discover;
	const finding = (result: Finding["result"], detail: string): Finding => ({
		backend,
		url,
		check: "list",
		result,
		detail,
	});
	try {
		const answer = await fetcher(url, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
		if (!answer.ok) return { urls: configured, findings: [finding("failed", `HTTP ${answer.status}`)] };
		const list = parseReplicaList(await answer.text(), path, pool.disaggregation?.protocol);
		return { urls: list.urls, findings: [finding("ok", `replicas: ${list.urls.length}`)] };
	} catch (error) {
		const reason = error instanceof ListError ? error.message : `no answer: ${causeOf(error)}`;
		return { urls: configured, findings: [finding("failed", reason)] };
	}
}

async function examineAddress(
	backend: ConfiguredBackend,
	url: string,
	config: Checked,
	fetcher: Fetch,
): Promise<Finding[]> {
	const listing = LISTINGS[backend.kind];
	if (!listing) return [];
	const finding = (check: Finding["check"], result: Finding["result"], detail: string): Finding => ({
		backend: backend.backend,
		url,
		check,
		result,
		detail,
	});
	const headers = { ...backend.headers, ...(backend.key && listing.headers(backend.key)) };
	const get = (address: string): Promise<Response> =>
		fetcher(address, { headers, redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
	let answer: Response;
	try {
		answer = await get(url + listing.path);
	} catch (error) {
		return [finding("reachable", "failed", `no answer: ${causeOf(error)}`)];
	}
	const reachable = finding("reachable", "ok", `HTTP ${answer.status}`);
	if (answer.status === 401 || answer.status === 403)
		return [reachable, finding("key", "failed", keyAdvice(backend, answer.status))];
	const models = answer.ok ? await listed(answer, listing) : undefined;
	if (!models) {
		const lacksVersion = backend.kind === "openai" && !/\/v\d+$/.test(url) && (await isList(get, url));
		const detail = lacksVersion
			? `${url}${listing.path} has no list of models, ${url}/v1${listing.path} has: add /v1 to the address`
			: `${url}${listing.path} is no ${backend.kind} engine's (HTTP ${answer.status})`;
		return [reachable, finding("address", "failed", detail)];
	}
	const key = finding("key", "ok", backend.key ? "accepted" : "none needed");
	return [
		reachable,
		key,
		...(listing.models ? targetsOf(backend, config) : []).flatMap(({ model, route }) =>
			examineModel({ model, route, models, config }).map((row) => finding(row.check, row.result, row.detail)),
		),
	];
}

async function listed(answer: Response, { models }: Listing): Promise<ListedModel[] | undefined> {
	if (!models) return [];
	try {
		return models(await answer.json());
	} catch {
		return undefined;
	}
}

async function isList(get: (url: string) => Promise<Response>, url: string): Promise<boolean> {
	try {
		const answer = await get(`${url}/v1/models`);
		// An engine that needs a key answers 401 only if the path exists.
		return answer.status === 401 || openAiModels(await answer.json()) !== undefined;
	} catch {
		return false;
	}
}

/** The models that routes name for a backend. */
function targetsOf({ backend }: ConfiguredBackend, { routing }: Checked): { model: string; route: Route }[] {
	return routing.routes.flatMap((route) =>
		route.targets.flatMap((target) => {
			const model = target.model ?? (isExact(route) ? route.pattern : undefined);
			return target.backend.backend === backend && model !== undefined ? [{ model, route }] : [];
		}),
	);
}

function examineModel({
	model,
	route,
	models,
	config,
}: {
	model: string;
	route: Route;
	models: readonly ListedModel[];
	config: Checked;
}): Pick<Finding, "check" | "result" | "detail">[] {
	const names = models.map(({ name }) => name);
	const served = models.find(({ name }) => name === model.replace(/:latest$/, "") || name === model);
	if (!served)
		return [{ check: "model", result: "failed", detail: `${model} is not there${didYouMean(model, names)}` }];
	const modelFound = { check: "model", result: "ok", detail: model } as const;
	const promised = isExact(route) ? config.catalog.find(route.pattern)?.contextWindow : undefined;
	const { contextWindow } = served;
	if (contextWindow === undefined || promised === undefined || contextWindow >= promised) return [modelFound];
	const detail = `${model} takes ${contextWindow} tokens, ${route.pattern} promises ${promised}: set MODELS[${JSON.stringify(route.pattern)}].context_window`;
	return [modelFound, { check: "context", result: "warning", detail }];
}

function prices({ catalog, routing }: Checked): Finding[] {
	return routing.routes.filter(isExact).flatMap(({ pattern, targets }) => {
		const model = catalog.find(pattern);
		const backend = targets.find((target) => isOwnEngine(target.backend))?.backend.backend;
		if (!model || backend === undefined) return [];
		const hasPrice = model.prices.length > 0 && model.priceSource !== "default";
		const detail = hasPrice ? pattern : `${pattern} has none: set BACKENDS.${backend}.price`;
		return [{ backend, url: "", check: "price", result: hasPrice ? "ok" : "warning", detail }];
	});
}

const CAUSES: Readonly<Record<string, string>> = {
	ECONNREFUSED: "nothing listens there (ECONNREFUSED)",
	ENOTFOUND: "the name of the host is unknown (ENOTFOUND)",
};

/** The message of `fetch` itself contains no reason. */
export function causeOf(error: unknown): string {
	if (!(error instanceof Error)) return "unknown";
	if (error.name === "TimeoutError") return `none within ${TIMEOUT_MS} ms`;
	const { cause } = error;
	if (!(cause instanceof Error)) return error.name;
	const code = codeOf(cause) || cause.message;
	return CAUSES[code] ?? code;
}

const keyAdvice = ({ key, backend }: ConfiguredBackend, status: number): string =>
	key === undefined
		? `HTTP ${status}: the engine needs a key, and BACKENDS.${backend}.key is not set`
		: `HTTP ${status}: the key of BACKENDS.${backend}.key is not accepted`;
