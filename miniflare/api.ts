/** The types of `dev.options` of a binding in the configuration of the caller's Worker. */

/** One of `BACKENDS`. The other settings of a backend: docs/configuration.md. */
export interface BackendOptions {
	kind: "simulator" | "openai" | "anthropic" | "gemini" | "tei" | "ollama" | "workers-ai" | "cog";
	/** The engine's base address. */
	url?: string;
	/** The addresses of the engine's replicas, instead of `url`. */
	urls?: string[];
	/** The replicas, instead of `url` and `urls`, and how one is chosen: docs/pools.md. */
	pool?: {
		replicas?: (string | { url: string; role?: "both" | "prefill" | "decode"; bootstrap_port?: number })[];
		policy?: string;
		shared_prompts?: boolean;
		disaggregation?: string | { protocol: string; [setting: string]: unknown };
		[setting: string]: unknown;
	};
	/** Name of the variable that holds the engine's key. */
	key?: string;
	[setting: string]: unknown;
}

/** A backend that serves a route's models. */
export interface TargetOptions {
	/** Name in `BACKENDS`, or `simulator`. */
	backend: string;
	/** The engine's name for the model. Default: the caller's name. */
	model?: string;
	weight?: number;
	[setting: string]: unknown;
}

/** One of `ROUTES`: the targets in order, or an object with targets and settings. */
export type RouteOptions = TargetOptions[] | { targets: TargetOptions[]; [setting: string]: unknown };

/** Recorded answers: docs/local-binding.md. */
export interface RecordingOptions {
	/** In the folder of the Worker's configuration; in vitest, in the root of the project of vitest. Default: `recordings`. */
	folder?: string;
	/**
	 * `once` (default): calls without a recording are recorded. `replay`: they fail. `record`: the calls of each test that runs are recorded
	 * again. `strict`: as `replay`, and a file of tests fails if it has a recording that no test uses. `prune`: as `replay`, and such
	 * recordings are removed. `off`. In CI, `once`, `record` and `prune` are `replay`. The environment variable GANGLION_RECORDINGS has
	 * precedence.
	 */
	mode?: "replay" | "strict" | "once" | "record" | "prune" | "off";
	/** Fields of inputs that are not compared, such as `messages.*.id`. */
	ignore?: string[];
	/** Streams are replayed at this multiple of their recorded speed. Default: without waiting. */
	speed?: number;
}

/** What a binding of the type `ai`, or a service binding, has beside {@link Options}. */
export interface RecordedOptions {
	/** Answers are recorded, and replayed: the name of a folder, or all settings. */
	recordings?: string | RecordingOptions;
}

/** A gateway inside the caller's session. docs/configuration.md describes the settings. */
export interface EmbeddedOptions {
	/** The account that is billed. Default: `local`. */
	account?: string;
	BACKENDS?: Record<string, BackendOptions>;
	/** Per author, the name of the variable with the key: a variable of the Worker or of the environment. */
	PROVIDER_KEYS?: Record<string, string>;
	ROUTES?: Record<string, RouteOptions>;
	LIMITS?: Record<string, unknown>;
	MODELS?: Record<string, Record<string, unknown>>;
	/** Model ids by alias. `accounts` has the aliases of single accounts. */
	ALIASES?: Record<string, unknown>;
	/** The search providers by name. */
	WEB_SEARCH?: Record<string, unknown>;
	/** What accounts may do with gateways. Default: `any_gateway`, `resumable_streams` and `share_provider_keys`. */
	AI_GATEWAY?: Record<string, unknown>;
	/** The backend of models without a route. Default: `simulator`. */
	DEFAULT_BACKEND?: string;
	/**
	 * Whether engines on this machine are used if neither BACKENDS nor ROUTES is set; or the ports on which to look for
	 * them. Default: true, except in CI and under vitest, where answers must be the same on every machine.
	 */
	localEngines?: boolean | number[];
	/** `local`: models run on this machine, by llama.cpp (docs/local-engine.md). BACKENDS and ROUTES have precedence. */
	engine?: "local";
	/** With `engine`: weights are downloaded at their first use. Default: false. */
	pull?: boolean;
}

/** A gateway that already runs. */
export interface UrlOptions {
	/** The gateway's address without a path: `http://localhost:8787`. */
	url: string;
	/** The account in the path `/client/v4/accounts/{account}/ai`. Default: `local`. */
	account?: string;
	/** Name of the variable with the gateway's token: a variable of the Worker or of the environment. */
	token?: string;
}

export type Options = EmbeddedOptions | UrlOptions;

/** What a binding of the type `vectorize` has beside {@link Options}. The index is created at its first use, unless it exists. */
export interface VectorizeOptions {
	/** The name of the index. */
	index_name: string;
	/** Default: those of the first vector that is written. */
	dimensions?: number;
	/** Default: `cosine`. */
	metric?: "cosine" | "euclidean" | "dot-product";
	/** Types by property. They are created with the index. */
	metadata_indexes?: Record<string, "string" | "number" | "boolean">;
	/** Milliseconds until a write is visible, as in the product. Default: 0. */
	delay_ms?: number;
}

/**
 * What a binding of the type `ai_search` or `ai_search_namespace` has beside {@link EmbeddedOptions}. The namespace and the instance are created
 * at their first use, unless they exist.
 */
export interface AiSearchOptions {
	/** The id of the instance. Only of the type `ai_search`. */
	instance_name?: string;
	/** Default: `default`. */
	namespace?: string;
}
