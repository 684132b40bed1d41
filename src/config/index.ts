/**
 * Parses the variables of the deployment once, at the start: `BACKENDS`, `PROVIDER_KEYS`, `ROUTES`, `LIMITS`, `MODELS`,
 * `ALIASES`, `WEB_SEARCH`, `STORAGE`, `RESPONSES`, `VECTORS`, `AI_SEARCH`, `JOBS`, `CORS`, `DEFAULT_BACKEND`, `PUBLIC_URL`, `LEDGER`,
 * `SHARDS`, `OPEN_FILES`, `MEMORY_BYTES`, `DISK_BYTES`, `ALLOW_ANONYMOUS`, `ALLOWED_HOSTS` and `ADMIN_TOKEN`. A variable may hold an
 * object or its JSON text. A mistake stops the start, and the error lists all mistakes. Secrets are separate variables, which `BACKENDS`,
 * `PROVIDER_KEYS` and `ROUTES` name.
 *
 * Runs on Node too: `npm run dev` reads the same configuration before it starts a process.
 */
import type * as z from "zod";
import { parseJson } from "../core/json.ts";
import { present } from "../core/present.ts";
import type { GatewayRules, KeepingLimits } from "../gateways/services.ts";
import type { ShadowRoutes } from "../gateways/shadows/shadow-routes.ts";
import type { CorsSetting } from "../http/cross-origin.ts";
import { adHocModel, Catalog } from "../models/catalog.ts";
import type { Model } from "../models/model.ts";
import { authorOf, THIRD_PARTY_IDS, thirdPartyModel } from "../models/third-party.ts";
import type { ConfiguredBackend } from "../pipeline/plan.ts";
import { isExact, matches, type Route, RouteTable, type RouteTarget } from "../pipeline/route.ts";
import type { Aliases } from "../pipeline/services.ts";
import type { StoreBounds } from "../responses/records.ts";
import type { SearchSettings } from "../retrieval/search/records.ts";
import type { VectorSettings } from "../retrieval/vectors/client/vector-indexes.ts";
import type { StorageSetting } from "../storage/storage.ts";
import type { WebSearchSettings } from "../websearch/settings.ts";
import { AiGatewaySchema } from "./ai-gateway.ts";
import { readAliases } from "./aliases.ts";
import { readBackends } from "./backends.ts";
import { keptBytesOf } from "./capacity.ts";
import { CorsSchema } from "./cors.ts";
import type { Env } from "./headers.ts";
import { type JobsConfig, jobsSchema } from "./jobs.ts";
import { jsonMistakeAt } from "./json-position.ts";
import { refuseLeftOut } from "./left-out.ts";
import { LimitsSchema } from "./limits.ts";
import { readModels } from "./models.ts";
import { hasBudget, pricing } from "./prices.ts";
import { ConfigError, Problems } from "./problems.ts";
import { readProviderKeys } from "./provider-keys.ts";
import { ResponsesSchema } from "./responses.ts";
import { expectedBackend, namesOf, readDefaultBackend, readRoutes } from "./routes.ts";
import { searchSchema } from "./search.ts";
import { readShadows } from "./shadows.ts";
import {
	readAdminToken,
	readCount,
	readFlag,
	readHosts,
	readLedger,
	readPublicUrl,
	readShards,
} from "./single-values.ts";
import { storageSchema } from "./storage.ts";
import { vectorsSchema } from "./vectors.ts";
import { readWebSearch } from "./web-search.ts";

export { ConfigError };

export interface Config {
	aliases: Aliases;
	/** By name, including the simulator. Contains secrets. */
	backends: ReadonlyMap<string, ConfiguredBackend>;
	routing: RouteTable;
	/** `shadow` of the routes. */
	shadowRoutes: ShadowRoutes;
	limits: KeepingLimits;
	gatewayRules: GatewayRules;
	/** `RESPONSES` */
	storeBounds: StoreBounds;
	/** `JOBS` */
	jobs: JobsConfig;
	/** Models of the product, of the operator, and of third parties that a route names. */
	catalog: Catalog;
	/** Ids of models that only a route names. */
	adHoc: readonly string[];
	allowAnonymous: boolean;
	/** Host names under which the gateway may be reached while `ALLOW_ANONYMOUS` is set, besides loopback and IP addresses. */
	allowedHosts: readonly string[];
	/** `LEDGER: "exact"`: the account's object admits every request. Default: isolates admit requests from leases. */
	exactLedger: boolean;
	/** `SHARDS`: how many objects have the accounts. 0: each account has one of its own. */
	shards: number;
	/** `OPEN_FILES`: the process's limit of open files. `cli/run-gateway.ts` raises the limit to it, and passes the result. */
	openFiles?: number;
	/** `MEMORY_BYTES`: the memory of each process. `cli/workers.ts` passes that of the machine. */
	memoryBytes?: number;
	/** Absent: nothing answers web searches. Contains secrets. */
	webSearch?: WebSearchSettings;
	/** The origin under which callers reach this gateway, for addresses in replies. */
	publicUrl?: string;
	/** Absent: pages of other origins cannot read replies. */
	cors?: CorsSetting;
	storage: StorageSetting;
	/** `VECTORS` */
	vectors: VectorSettings;
	/** `AI_SEARCH` */
	search: SearchSettings;
	/** A secret that grants all permissions for every account. */
	adminToken?: string;
}

/** Of a gateway on one machine. One process commits for all objects, and calls that arrive together share a commit only in one object. */
const DEFAULT_SHARDS = 1;

/** Throws a `ConfigError` that lists every mistake. */
export function configure(variables: object): Config {
	// Bindings have their own types; each reader below checks its value.
	const env = variables as Env;
	const problems = new Problems();
	const backendEntries = new Map(readEntries("BACKENDS", env, problems));
	const backends = readBackends(backendEntries, env, problems);
	const keyEntries = readEntries("PROVIDER_KEYS", env, problems);
	const providers = readProviderKeys(keyEntries, { env, taken: new Set(backendEntries.keys()), problems });
	for (const { backend } of providers) {
		backends.set(backend.backend, backend);
		backendEntries.set(backend.backend, { key: backend.backend });
	}
	const context = { env, backends, backendEntries, problems };
	const routeEntries = readEntries("ROUTES", env, problems);
	const ownRoutes = readRoutes(routeEntries, context);
	const routes = [...ownRoutes, ...providers.map(({ route }) => route)];
	const shadowRoutes = readShadows(routeEntries, routes, context);
	const allowAnonymous = readFlag("ALLOW_ANONYMOUS", env, problems);
	const allowedHosts = readHosts(env.ALLOWED_HOSTS, problems);
	const openFiles = readCount("OPEN_FILES", env, problems);
	// One process commits for all its objects; on Cloudflare, objects are spread over machines.
	const shards = readShards(env.SHARDS, problems) ?? (openFiles === undefined ? 0 : DEFAULT_SHARDS);
	const memoryBytes = readCount("MEMORY_BYTES", env, problems);
	const kept = keptBytesOf(readCount("DISK_BYTES", env, problems));
	const exactLedger = readLedger(env.LEDGER, problems);
	const adminToken = readAdminToken(env.ADMIN_TOKEN, problems);
	const publicUrl = readPublicUrl(env.PUBLIC_URL, problems);
	// Anonymous access is for development: test suites send more requests than the product's rates allow.
	const defaultRates = { requests_per_minute: allowAnonymous ? "none" : "product" };
	const limitEntries = Object.fromEntries(readEntries("LIMITS", env, problems));
	const limits = problems.parse(LimitsSchema, { ...kept, ...defaultRates, ...limitEntries }, ["LIMITS"]);
	const corsEntries = Object.fromEntries(readEntries("CORS", env, problems));
	const hasCors = Object.keys(corsEntries).length > 0;
	const cors = hasCors ? problems.parse(CorsSchema, corsEntries, ["CORS"]) : undefined;
	const parsed = <T>(name: string, schema: z.ZodType<T>): T | undefined =>
		problems.parse(schema, Object.fromEntries(readEntries(name, env, problems)), [name]);
	const gatewayRules = parsed("AI_GATEWAY", AiGatewaySchema);
	const storage = parsed("STORAGE", storageSchema(env));
	const storeBounds = parsed("RESPONSES", ResponsesSchema);
	const vectors = parsed("VECTORS", vectorsSchema(env));
	const search = parsed("AI_SEARCH", searchSchema(env));
	const jobs = parsed("JOBS", jobsSchema(env));
	for (const name of jobs?.settings.backends.keys() ?? [])
		if (!namesOf(context).includes(name))
			problems.add(["JOBS", "backends", name], expectedBackend(context, name));
	const product = new Catalog();
	const models = readModels(readEntries("MODELS", env, problems), product, problems);
	const defaultBackend = readDefaultBackend(env.DEFAULT_BACKEND, context);
	const webSearch = readWebSearch(readEntries("WEB_SEARCH", env, problems), {
		env,
		simulated: defaultBackend?.kind === "simulator",
		problems,
	});
	const aliasEntries = readEntries("ALIASES", env, problems);
	const keyed = providers.map(({ backend }) => backend);
	const called = [...ownRoutes, ...shadowRoutes.shadows.map(({ route }) => route)];
	refuseLeftOut({ routes: called, keyed, defaultBackend }, problems);
	problems.throwIfAny();

	const known = product.with(servedThirdParties(routes)).with(models);
	const adHoc = routes
		.filter((route) => isExact(route) && !known.find(route.pattern))
		.map(({ pattern }) => pattern);
	const routing = new RouteTable(routes, defaultBackend);
	const allLimits = limits ?? LimitsSchema.parse({});
	const catalog = known.with(adHoc.map(adHocModel)).withPrices(pricing(routing, hasBudget(allLimits)));
	const aliases = readAliases(aliasEntries, { catalog, routing }, problems);
	problems.throwIfAny();
	return {
		aliases,
		backends,
		routing,
		shadowRoutes,
		limits: allLimits,
		gatewayRules: rulesOf(gatewayRules ?? AiGatewaySchema.parse({}), allowAnonymous),
		storeBounds: storeBounds ?? ResponsesSchema.parse({}),
		vectors: vectors ?? vectorsSchema(env).parse({}),
		search: search ?? searchSchema(env).parse({}),
		jobs: jobs ?? jobsSchema(env).parse({}),
		catalog,
		adHoc,
		allowAnonymous,
		allowedHosts,
		exactLedger,
		shards,
		storage: storage ?? storageSchema(env).parse({}),
		...present({ webSearch, openFiles, memoryBytes, publicUrl, cors, adminToken }),
	};
}

/** Models of third parties that a route matches by author or id. The pattern `*` alone matches none. */
const servedThirdParties = (routes: readonly Route[]): Model[] =>
	THIRD_PARTY_IDS.filter((id) =>
		routes.some(({ pattern }) => pattern.startsWith(`${authorOf(id)}/`) && matches(pattern, id)),
	).flatMap((id) => thirdPartyModel(id) ?? []);

/** The entries of a variable that holds an object or its JSON text. Empty if the variable is not set. */
function readEntries(name: string, env: Env, problems: Problems): [string, unknown][] {
	const value = env[name];
	if (typeof value !== "string") return problems.entriesOf(value, [name]);
	if (value.trim() === "") return [];
	const parsed = parseJson(value);
	if (parsed !== undefined) return problems.entriesOf(parsed, [name]);
	// The parser's message quotes the text, which may contain a secret.
	problems.add([name], `expected JSON, found text that is not JSON (${jsonMistakeAt(value)})`);
	return [];
}

/** In an open deployment every caller already uses the operator's keys and creates gateways. */
const rulesOf = (rules: GatewayRules, allowAnonymous: boolean): GatewayRules =>
	allowAnonymous ? { ...rules, shareProviderKeys: true, anyGateway: true } : rules;

export type DevelopmentConfig = Pick<Config, "adminToken" | "allowAnonymous" | "gatewayRules">;

/** With `ALLOW_ANONYMOUS`, and with `any_gateway` if there is no operator, as in the plugin: then only the caller can read a hint. */
export const isForDevelopment = ({ adminToken, allowAnonymous, gatewayRules }: DevelopmentConfig): boolean =>
	allowAnonymous || (gatewayRules.anyGateway && adminToken === undefined);

/** The routes for the banner at the start, one line each. Contains names, addresses and models, no secrets. */
export function describeRouting({ routing, adHoc }: Config): string[] {
	const rows = routing.routes.map(({ pattern, settings, targets }): [string, string] => {
		const notes = [
			...(settings?.passthrough ? ["passthrough"] : []),
			...(adHoc.includes(pattern) ? ["not in the catalogue: a text model"] : []),
		];
		const served = targets.map(describeTarget).join("; ");
		return [pattern, notes.length > 0 ? `${served} (${notes.join("; ")})` : served];
	});
	const { defaultBackend } = routing;
	if (!routing.routes.some(({ pattern }) => pattern === "*"))
		rows.push([
			rows.length > 0 ? "everything else" : "every model",
			defaultBackend ? describeTarget({ backend: defaultBackend, headers: {} }) : "nothing",
		]);
	const grouped = grouping(rows);
	const width = Math.max(...grouped.map(([pattern]) => pattern.length));
	return grouped.map(([pattern, served]) => `${pattern.padEnd(width)}  ->  ${served}`);
}

/** Routes with equal targets are listed one by one up to this number. */
const MAX_LISTED = 3;

/** One row for many routes with equal targets, at the place of the first one. */
function grouping(rows: readonly [string, string][]): [string, string][] {
	return rows.flatMap(([pattern, served]): [string, string][] => {
		const equal = rows.filter(([, other]) => other === served);
		if (equal.length <= MAX_LISTED) return [[pattern, served]];
		const isFirst = equal[0]?.[0] === pattern;
		return isFirst ? [[`${pattern} and ${equal.length - 1} more`, served]] : [];
	});
}

function describeTarget({ backend, model, weight, weights, weightsAbsent }: RouteTarget): string {
	const [first, ...others] = backend.urls;
	const more = others.length > 0 ? ` and ${others.length} more` : "";
	return [
		backend.backend,
		...(first ? [`(${first}${more})`] : []),
		...(model === undefined ? [] : [model]),
		...(weight === undefined ? [] : [`weight ${weight}`]),
		...(weights === undefined ? [] : [`[${weights}${weightsAbsent ? "; not on the disk" : ""}]`]),
	].join(" ");
}
