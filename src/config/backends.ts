/** `BACKENDS`: the engines that routes name. */
import * as z from "zod";
import type { AiBinding } from "../backends/backend.ts";
import { EngineUrl } from "../backends/engine-url.ts";
import { BACKEND_KINDS, type BackendKind, KINDS, type KindFacts } from "../backends/kinds.ts";
import { quote } from "../core/did-you-mean.ts";
import { isRecord } from "../core/json.ts";
import { lazy } from "../core/lazy.ts";
import { present } from "../core/present.ts";
import type { ConfiguredBackend } from "../pipeline/plan.ts";
import { expectedName, fieldNotes, list } from "../schemas/explain.ts";
import { AdaptersSetting } from "./adapters.ts";
import { positiveCount } from "./amounts.ts";
import { backendFieldNote } from "./backend-fields.ts";
import { BackendPrice } from "./backend-price.ts";
import { engineHint } from "./engine-names.ts";
import { type Env, headers, secret } from "./headers.ts";
import { namedBinding } from "./named-binding.ts";
import { PoolSetting, poolSettings, refuseSharedReplicas } from "./pools.ts";
import type { Path, Problems } from "./problems.ts";
import { DEFAULT_TIMEOUTS, SetTimeouts } from "./timeouts.ts";

/** The name of the built-in simulator. */
export const SIMULATOR = "simulator";
const PRELOADED_KINDS: readonly string[] = BACKEND_KINDS.filter((kind) => "preloads" in KINDS[kind]);
/** Settings of a pool that add fields to requests of OpenAI's API. */
const OPENAI_POOL_FIELDS = ["disaggregation", "cache_salt", "priority"] as const;
/** Settings that only one kind reads. */
const FIELDS_OF_ONE_KIND = [
	["api", "openai"],
	["adapters", "openai"],
	["num_ctx", "ollama"],
] as const;

const WholeTimeouts = SetTimeouts.transform((set) => ({ ...DEFAULT_TIMEOUTS, ...set }));

const BackendName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Settings of an engine without a pool, besides `kind`. */
const engineSettings = (env: Env) =>
	z.strictObject({
		url: EngineUrl.optional(),
		urls: z.array(EngineUrl).min(1).optional(),
		key: secret(env).optional(),
		headers: headers(env).optional(),
		timeouts: WholeTimeouts.optional(),
		system_messages: z.enum(["first", "anywhere"]).optional(),
		num_ctx: positiveCount.optional(),
		api: z.enum(["auto", "chat", "responses"]).optional(),
		price: BackendPrice.optional(),
		adapters: AdaptersSetting().optional(),
		pool: z.undefined().optional(),
	});

/** All backends have the same schemas. That of a pool is larger than all others together. */
const schemasFor = (env: Env) => {
	const notes = { unknown: backendFieldNote };
	const engine = lazy(() => engineSettings(env).register(fieldNotes, notes));
	return {
		engine,
		pooled: lazy(() => engine().extend({ pool: PoolSetting().optional() }).register(fieldNotes, notes)),
		bound: lazy(() => boundSettings(env)),
	};
};
type Schemas = ReturnType<typeof schemasFor>;
type EngineSettings = Omit<z.output<ReturnType<Schemas["engine"]>>, "pool"> & {
	pool?: z.output<ReturnType<typeof PoolSetting>> | undefined;
};

/** An instance of the runtime's `Ai` class, or a service binding to another gateway's entrypoint. */
const isAiBinding = (bound: object): bound is AiBinding => "run" in bound && typeof bound.run === "function";

/** Settings of a backend behind a binding, which has no address and no credentials. */
const boundSettings = (env: Env) =>
	z.strictObject({
		binding: namedBinding(env, "an Ai binding", isAiBinding),
		timeouts: WholeTimeouts.optional(),
		price: BackendPrice.optional(),
	});

function boundBackend(
	name: string,
	settings: unknown,
	{ bound }: Schemas,
	problems: Problems,
): ConfiguredBackend | undefined {
	const parsed = problems.parse(bound(), settings, ["BACKENDS", name]);
	if (!parsed) return undefined;
	const { binding, timeouts = DEFAULT_TIMEOUTS, price } = parsed;
	return { ...unaddressed(name, "workers-ai"), binding, timeouts, ...present({ prices: price }) };
}

/** Every valid backend, and the simulator. */
export function readBackends(
	entries: ReadonlyMap<string, unknown>,
	env: Env,
	problems: Problems,
): Map<string, ConfiguredBackend> {
	const backends = new Map([[SIMULATOR, unaddressed(SIMULATOR, "simulator")]]);
	const schemas = schemasFor(env);
	for (const [name, entry] of entries) {
		const backend = readBackend(name, entry, schemas, problems);
		if (backend) backends.set(name, backend);
	}
	refuseSharedReplicas(backends.values(), problems);
	return backends;
}

function readBackend(
	name: string,
	entry: unknown,
	schemas: Schemas,
	problems: Problems,
): ConfiguredBackend | undefined {
	const path: Path = ["BACKENDS", name];
	if (!BackendName.test(name))
		problems.add(path, "expected a name of up to 64 letters, digits, '.', '_' and '-', found another");
	const fields = problems.parse(z.looseObject({}), entry, path);
	if (!fields) return undefined;
	const { kind, ...rest } = fields;

	if (name === SIMULATOR && kind !== "simulator") {
		problems.add(
			[...path, "kind"],
			`${expectedName(["simulator"], kind)} (the name is the built-in simulator's)`,
		);
		return undefined;
	}
	if (kind === "simulator")
		return problems.parse(z.strictObject({}), rest, path) && unaddressed(name, "simulator");
	const known = BACKEND_KINDS.find((one) => one === kind);
	if (!known) problems.add([...path, "kind"], `${expectedName(BACKEND_KINDS, kind)}${engineHint(kind)}`);

	if (known === "workers-ai" && rest.binding !== undefined)
		return boundBackend(name, rest, schemas, problems);

	// Also for an unknown kind: the other settings are probably those of an engine.
	const { url: hosted }: KindFacts = known ? KINDS[known] : {};
	checkAddresses(rest, hosted !== undefined, path, problems);
	refuseSecondKey(rest.headers, rest.key, [...path, "headers"], problems);
	const engine: EngineSettings | undefined =
		// An unknown field may be one of a pool.
		rest.pool === undefined && Object.keys(rest).every((field) => field in schemas.engine().shape)
			? problems.parse(schemas.engine(), rest, path)
			: problems.parse(schemas.pooled(), rest, path);
	for (const field of OPENAI_POOL_FIELDS)
		if (engine?.pool?.[field] && known && known !== "openai")
			problems.add(
				[...path, "pool", field],
				`expected a backend of kind "openai" beside it, found one of kind "${known}"`,
			);
	if (engine?.pool?.disaggregation && engine.api === "responses")
		problems.add(
			[...path, "api"],
			'expected "chat" beside pool.disaggregation, whose two calls are chat completions, found "responses"',
		);
	for (const [field, only] of FIELDS_OF_ONE_KIND)
		if (engine?.[field] !== undefined && known && known !== only)
			problems.add(
				[...path, field],
				`expected a backend of kind "${only}" beside it, found one of kind "${known}"`,
			);
	if (engine?.pool?.preload && known && !PRELOADED_KINDS.includes(known))
		problems.add(
			[...path, "pool", "preload"],
			`expected a backend of kind ${list(PRELOADED_KINDS.map(quote), "or")} beside it, found one of kind "${known}"`,
		);
	const url = engine?.url ?? hosted;
	const replicas = engine?.pool?.replicas?.map((replica) => replica.url);
	const listed = replicas ?? engine?.urls ?? (url === undefined ? undefined : [url]);
	const [first, ...others] = listed ?? (engine?.pool?.discover ? [""] : []);
	if (!engine || !known || first === undefined) return undefined;
	const {
		key,
		headers = {},
		timeouts = DEFAULT_TIMEOUTS,
		system_messages,
		num_ctx,
		api,
		price,
		adapters,
		pool,
	} = engine;
	return {
		backend: name,
		kind: known,
		urls: [first, ...others],
		headers,
		timeouts,
		observed: {},
		...present({
			key,
			systemMessages: system_messages,
			numCtx: num_ctx,
			api,
			prices: price,
			adapters,
			pool: pool && poolSettings(pool),
		}),
	};
}

function checkAddresses(
	{ url, urls, pool }: Record<string, unknown>,
	hosted: boolean,
	path: Path,
	problems: Problems,
): void {
	if (isRecord(pool) && pool.replicas !== undefined) {
		if (url !== undefined || urls !== undefined)
			problems.add(
				path,
				`expected no ${url === undefined ? "urls" : "url"} beside pool.replicas, found both`,
			);
		return;
	}
	const both = url !== undefined && urls !== undefined;
	const neither = url === undefined && urls === undefined;
	if (neither && (hosted || (isRecord(pool) && pool.discover !== undefined))) return;
	if (neither && isRecord(pool))
		problems.add(path, "expected pool.replicas or pool.discover, or urls beside pool, found none");
	else if (both || neither)
		problems.add(path, `expected either url or urls, found ${both ? "both" : "neither"}`);
}

/** A key is sent as `Authorization`, so a header of that name must not be set as well. */
export function refuseSecondKey(headers: unknown, key: unknown, path: Path, problems: Problems): void {
	if (key === undefined || typeof headers !== "object" || headers === null) return;
	for (const name of Object.keys(headers))
		if (name.toLowerCase() === "authorization")
			problems.add([...path, name], "expected no such header beside a key, found both");
}

/** A backend without an address. */
const unaddressed = (backend: string, kind: BackendKind): ConfiguredBackend => ({
	backend,
	kind,
	urls: [""],
	headers: {},
	timeouts: DEFAULT_TIMEOUTS,
});

/** A backend of a provider, which needs only its key. */
export const keyedBackend = (
	backend: string,
	{ kind, url }: { kind: BackendKind; url: string },
	key: string | undefined,
): ConfiguredBackend => ({
	...unaddressed(backend, kind),
	urls: [url],
	...(key !== undefined && { key }),
	observed: {},
});
