/**
 * Reads `dev.options` of a binding. The default is a gateway inside the caller's session, with the settings that a
 * deployment has as variables; with `url` it is a running gateway. All problems are reported together, before anything
 * starts.
 */
import * as z from "zod";
import { comparable } from "../scripts/command-names.ts";
import { settingNames } from "../scripts/setting-names.ts";
import { type Env, secret } from "../src/config/headers.ts";
import { type Config, ConfigError, configure } from "../src/config/index.ts";
import { Problems } from "../src/config/problems.ts";
import { isRecord } from "../src/core/json.ts";
import { lazy } from "../src/core/lazy.ts";
import type { EmbeddedOptions, UrlOptions } from "./api.ts";

export type Source = EmbeddedSource | UrlSource;

export interface EmbeddedSource {
	kind: "embedded";
	account: string;
	/** The gateway's variables: its settings, and the secrets that they name. */
	variables: Readonly<Record<string, unknown>>;
	config: Config;
	/** The options as they are written, if settings were added that differ in each session. They name the folder of the state. */
	written?: Env;
}

export interface UrlSource {
	kind: "url";
	account: string;
	/** Without a trailing slash. */
	url: string;
	token?: string | undefined;
}

/** The gateway settings that the options may contain. */
export const SETTINGS = [
	"BACKENDS",
	"PROVIDER_KEYS",
	"ROUTES",
	"LIMITS",
	"MODELS",
	"ALIASES",
	"WEB_SEARCH",
	"AI_GATEWAY",
	"DEFAULT_BACKEND",
] as const;

/** A Worker under test needs no set-up of its gateways, and gets the streams that the product's binding has. */
const GATEWAY_RULES = { any_gateway: true, resumable_streams: true, share_provider_keys: true };

export const PLACE = "dev.options";
const DEFAULT_ACCOUNT = "local";
const DEFAULT_BACKEND = "simulator";
/** No rate limits by default, because a test suite exceeds the product's limits. */
const NO_RATES = { requests_per_minute: "none" };

const Account = z
	.string()
	.regex(/^[\w-]{1,64}$/, {
		error: "expected a name of up to 64 letters, digits, '_' and '-', found another text",
	})
	.default(DEFAULT_ACCOUNT);

/** Used by `engines.ts`, before the settings are read. */
export const LocalEngines = z.union([z.boolean(), z.array(z.int().min(1).max(65_535)).min(1)], {
	error: "expected true, false or a list of ports, found another value",
});

/** Used by `local-models.ts`, before the settings are read. */
export const LocalModels = {
	engine: z.literal("local"),
	pull: z.boolean(),
};

/** Validated by `configure`. */
const setting = z.unknown().optional();

const Embedded = z.strictObject({
	account: Account,
	BACKENDS: setting,
	PROVIDER_KEYS: setting,
	ROUTES: setting,
	LIMITS: setting,
	MODELS: setting,
	ALIASES: setting,
	WEB_SEARCH: setting,
	AI_GATEWAY: setting,
	DEFAULT_BACKEND: setting,
	localEngines: LocalEngines.optional(),
	engine: LocalModels.engine.optional(),
	pull: LocalModels.pull.optional(),
} satisfies Record<keyof EmbeddedOptions, z.ZodType>);

const GatewayUrl = z.string().transform((text, context) => {
	const refuse = (found: string) => {
		context.addIssue(`expected the address of a gateway, such as http://localhost:8787, found ${found}`);
		return z.NEVER;
	};
	const url = URL.parse(text);
	if (!url) return refuse("text that is not an address");
	if (!/^https?:$/.test(url.protocol))
		return refuse("an address that does not begin with http:// or https://");
	if (url.username || url.password) return refuse("one with credentials (name a variable in token)");
	if (url.pathname !== "/" || /[?#]/.test(text)) return refuse("one with a path, a query or a fragment");
	return url.origin;
});

const Url = (env: Env) =>
	z.strictObject({
		account: Account,
		url: GatewayUrl,
		token: secret(env).optional(),
	} satisfies Record<keyof UrlOptions, z.ZodType>);

/**
 * `env` has the secrets that the options may name: the environment of the process, overridden by the Worker's variables. `platform`: of
 * the names in it. That of this process if absent.
 * Throws a `ConfigError` that lists all problems.
 */
export function readOptions(options: Env, env: Env, platform?: string): Source {
	if (isSpreadText(options)) throw new ConfigError([`${PLACE}: expected an object, found text`]);
	return "url" in options ? readUrl(options, env, platform) : readEmbedded(options, env, platform);
}

/** wrangler spreads the options into an object: `"hello"` arrives as `{0: "h", 1: "e", …}`. */
function isSpreadText(options: Env): boolean {
	const entries = Object.entries(options);
	return (
		entries.length > 0 &&
		entries.every(([key, value], index) => key === String(index) && typeof value === "string")
	);
}

function readUrl(options: Env, env: Env, platform?: string): UrlSource {
	const problems = new Problems();
	const fields = problems.parse(Url(tracked(env, platform).variables), options, [PLACE]);
	if (fields) return { kind: "url", ...fields };
	throw new ConfigError(problemsOf(() => problems.throwIfAny()));
}

const ABSENT = lazy(() => Object.fromEntries([...settingNames()].map((name) => [name, undefined])));

function readEmbedded(options: Env, env: Env, platform?: string): EmbeddedSource {
	const problems = new Problems();
	const fields = problems.parse(Embedded, options, [PLACE]);
	const { BACKENDS, PROVIDER_KEYS, ROUTES, LIMITS, MODELS, ALIASES, WEB_SEARCH, AI_GATEWAY } = options;
	const { DEFAULT_BACKEND: fallback = DEFAULT_BACKEND } = options;
	const settings = {
		// Otherwise variables of the environment or of the Worker with the name of a setting would be used.
		...ABSENT(),
		BACKENDS,
		PROVIDER_KEYS,
		ROUTES,
		LIMITS: withoutRates(LIMITS),
		MODELS,
		ALIASES,
		WEB_SEARCH,
		DEFAULT_BACKEND: fallback,
		// `configure` reports a value that is no object.
		AI_GATEWAY: isRecord(AI_GATEWAY ?? {}) ? { ...GATEWAY_RULES, ...(AI_GATEWAY as object) } : AI_GATEWAY,
	};
	const { variables, read } = tracked({ ...env, ...settings }, platform);
	let config: Config | undefined;
	const problemLines = [
		...problemsOf(() => problems.throwIfAny()),
		...problemsOf(() => {
			config = configure(variables);
		}).map((line) => `${PLACE}.${line}`),
	];
	if (!fields || !config) throw new ConfigError(problemLines);
	return { kind: "embedded", account: fields.account, variables: read, config };
}

/** The values of the variables that the options of a source name. */
export function secretsOf(source: Source): string[] {
	if (source.kind === "url") return source.token === undefined ? [] : [source.token];
	const others = Object.entries(source.variables).filter(([name]) => !settingNames().has(name));
	return others.map(([, value]) => value).filter((value) => typeof value === "string");
}

/** Returns a value that is not an object unchanged: `configure` reports it. */
const withoutRates = (limits: unknown = {}): unknown =>
	typeof limits === "object" && limits !== null && !Array.isArray(limits)
		? { ...NO_RATES, ...limits }
		: limits;

/** Collects the variables that are read, so that only secrets named by a setting reach the gateway. */
function tracked(env: Env, platform?: string): { variables: Env; read: Record<string, unknown> } {
	const read: Record<string, unknown> = {};
	// A copy of the environment of Windows has a name only as it is written there.
	const written = new Map(Object.keys(env).map((name) => [comparable(name, platform), name]));
	const variables = new Proxy(env, {
		get(target, name) {
			if (typeof name !== "string") return undefined;
			const value =
				target[Object.hasOwn(target, name) ? name : (written.get(comparable(name, platform)) ?? name)];
			if (value !== undefined) read[name] = value;
			return value;
		},
	});
	return { variables, read };
}

function problemsOf(check: () => void): readonly string[] {
	try {
		check();
		return [];
	} catch (error) {
		if (error instanceof ConfigError) return error.problems;
		throw error;
	}
}
