/** What `dev.options` of a binding takes, as it is written in the configuration of the caller's Worker. */

/** One of `BACKENDS`. The other settings of a backend: docs/configuration.md. */
export interface BackendOptions {
	kind: "simulator" | "openai" | "anthropic" | "gemini" | "tei" | "ollama" | "workers-ai" | "cog";
	/** The engine's base address. */
	url?: string;
	/** The addresses of its replicas, instead of `url`. */
	urls?: string[];
	/** Name of the variable that holds the engine's key. */
	key?: string;
	[setting: string]: unknown;
}

/** A backend that serves a route's models. */
export interface TargetOptions {
	/** Name in `BACKENDS`, or `simulator`. */
	backend: string;
	/** The engine's name of the model; the caller's if left out. */
	model?: string;
	weight?: number;
	[setting: string]: unknown;
}

/** One of `ROUTES`: its targets in order, or an object with settings beside them. */
export type RouteOptions = TargetOptions[] | { targets: TargetOptions[]; [setting: string]: unknown };

/** A gateway of its own, in the caller's session. The settings are those of docs/configuration.md. */
export interface EmbeddedOptions {
	/** Who pays; `local` if left out. */
	account?: string;
	BACKENDS?: Record<string, BackendOptions>;
	/** By author, the names of the variables that hold the keys: the Worker's own, or the environment's. */
	PROVIDER_KEYS?: Record<string, string>;
	ROUTES?: Record<string, RouteOptions>;
	LIMITS?: Record<string, unknown>;
	MODELS?: Record<string, Record<string, unknown>>;
	/** Names for models, each with the id of its model; `accounts` has those of single accounts. */
	ALIASES?: Record<string, unknown>;
	/** What serves the models that no route names; `simulator` if left out. */
	DEFAULT_BACKEND?: string;
	/**
	 * Whether engines that run on this machine answer, where neither BACKENDS nor ROUTES say which do; or the ports to look
	 * at for them. Left out: they do, but in CI and under vitest, whose answers must be the same everywhere.
	 */
	localEngines?: boolean | number[];
}

/** A gateway that already runs. */
export interface UrlOptions {
	/** Its address without a path: `http://localhost:8787`. */
	url: string;
	/** Whose routes to use: `/client/v4/accounts/{account}/ai`; `local` if left out. */
	account?: string;
	/** Name of the variable that holds the gateway's token: one of the Worker's own, or of the environment. */
	token?: string;
}

export type Options = EmbeddedOptions | UrlOptions;
