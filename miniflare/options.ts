/**
 * What `dev.options` of a binding may say. A gateway of its own in the caller's session (the default), with the
 * settings that a deployment has as variables; or, with `url`, a gateway that already runs. Every mistake is told at
 * once, before anything starts.
 */
import * as z from "zod";
import { type Env, secret } from "../src/config/headers.ts";
import { Problems } from "../src/config/problems.ts";
import { type Config, ConfigError, configure } from "../src/config.ts";
import type { EmbeddedOptions, UrlOptions } from "./api.ts";

export type Source = EmbeddedSource | UrlSource;

export interface EmbeddedSource {
	kind: "embedded";
	account: string;
	/** The variables of the gateway: its settings, and the secrets that they name. */
	variables: Readonly<Record<string, unknown>>;
	config: Config;
}

export interface UrlSource {
	kind: "url";
	account: string;
	/** Without a slash at its end. */
	url: string;
	token?: string | undefined;
}

/** Of a gateway, as the options name them. */
export const SETTINGS = [
	"BACKENDS",
	"PROVIDER_KEYS",
	"ROUTES",
	"LIMITS",
	"MODELS",
	"ALIASES",
	"DEFAULT_BACKEND",
] as const;

const PLACE = "dev.options";
const DEFAULT_ACCOUNT = "local";
const DEFAULT_BACKEND = "simulator";
/** A test suite asks more often than the product lets an account. */
const NO_RATES = { requests_per_minute: "none" };

const Account = z
	.string()
	.regex(/^[\w-]{1,64}$/, {
		error: "expected a name of up to 64 letters, digits, '_' and '-', found another text",
	})
	.default(DEFAULT_ACCOUNT);

/** Read by `engines.ts`, before the settings are. */
export const LocalEngines = z.union([z.boolean(), z.array(z.int().min(1).max(65_535)).min(1)], {
	error: "expected true, false or a list of ports, found another value",
});

/** Read by `configure`. */
const setting = z.unknown().optional();

const Embedded = z.strictObject({
	account: Account,
	BACKENDS: setting,
	PROVIDER_KEYS: setting,
	ROUTES: setting,
	LIMITS: setting,
	MODELS: setting,
	ALIASES: setting,
	DEFAULT_BACKEND: setting,
	localEngines: LocalEngines.optional(),
} satisfies Record<keyof EmbeddedOptions, z.ZodType>);

const GatewayUrl = z.string().transform((text, context) => {
	const refuse = (found: string) => {
		context.addIssue(`expected the address of a gateway, such as http://localhost:8787, found ${found}`);
		return z.NEVER;
	};
	const url = URL.parse(text);
	if (!url) return refuse("text that is no address");
	if (!/^https?:$/.test(url.protocol))
		return refuse("another kind of address (it begins with http:// or https://)");
	if (url.username || url.password) return refuse("one with credentials (name a variable in token)");
	if (url.pathname !== "/" || /[?#]/.test(text)) return refuse("one that goes on behind its host");
	return url.origin;
});

const Url = (env: Env) =>
	z.strictObject({
		account: Account,
		url: GatewayUrl,
		token: secret(env).optional(),
	} satisfies Record<keyof UrlOptions, z.ZodType>);

/**
 * `env` holds the secrets that may be named: the environment of the process, and the Worker's own variables over it.
 * Throws a `ConfigError` that lists every mistake.
 */
export function readOptions(options: Env, env: Env): Source {
	if (isSpreadText(options)) throw new ConfigError([`${PLACE}: expected an object, found text`]);
	return "url" in options ? readUrl(options, env) : readEmbedded(options, env);
}

/** wrangler spreads the options into an object: `"hello"` arrives as `{0: "h", 1: "e", …}`. */
function isSpreadText(options: Env): boolean {
	const entries = Object.entries(options);
	return (
		entries.length > 0 &&
		entries.every(([key, value], index) => key === String(index) && typeof value === "string")
	);
}

function readUrl(options: Env, env: Env): UrlSource {
	const problems = new Problems();
	const fields = problems.parse(Url(env), options, [PLACE]);
	if (fields) return { kind: "url", ...fields };
	throw new ConfigError(mistakesOf(() => problems.throwIfAny()));
}

function readEmbedded(options: Env, env: Env): EmbeddedSource {
	const problems = new Problems();
	const fields = problems.parse(Embedded, options, [PLACE]);
	const { BACKENDS, PROVIDER_KEYS, ROUTES, LIMITS, MODELS, ALIASES } = options;
	const { DEFAULT_BACKEND: fallback = DEFAULT_BACKEND } = options;
	// All of them, also those that are not set: a variable of the environment by such a name is somebody else's.
	const settings = {
		BACKENDS,
		PROVIDER_KEYS,
		ROUTES,
		LIMITS: withoutRates(LIMITS),
		MODELS,
		ALIASES,
		DEFAULT_BACKEND: fallback,
		ALLOW_ANONYMOUS: undefined,
		ADMIN_TOKEN: undefined,
	};
	const { seen, read } = recorder({ ...env, ...settings });
	let config: Config | undefined;
	const mistakes = [
		...mistakesOf(() => problems.throwIfAny()),
		...mistakesOf(() => {
			config = configure(seen);
		}).map((line) => `${PLACE}.${line}`),
	];
	if (!fields || !config) throw new ConfigError(mistakes);
	return { kind: "embedded", account: fields.account, variables: read, config };
}

/** What is no object is told with the other mistakes. */
const withoutRates = (limits: unknown = {}): unknown =>
	typeof limits === "object" && limits !== null && !Array.isArray(limits)
		? { ...NO_RATES, ...limits }
		: limits;

/** The same variables, and those that were read: a secret that no setting names stays where it is. */
function recorder(variables: Env): { seen: Env; read: Record<string, unknown> } {
	const read: Record<string, unknown> = {};
	const seen = new Proxy(variables, {
		get(target, name) {
			const value: unknown = Reflect.get(target, name);
			if (typeof name === "string" && value !== undefined) read[name] = value;
			return value;
		},
	});
	return { seen, read };
}

function mistakesOf(check: () => void): readonly string[] {
	try {
		check();
		return [];
	} catch (error) {
		if (error instanceof ConfigError) return error.problems;
		throw error;
	}
}
