/** What `dev.options` of a binding takes, as it is written in the configuration of the caller's Worker. */

/** A gateway of its own, in the caller's session. The settings are those of docs/configuration.md. */
export interface EmbeddedOptions {
	/** Who pays; `local` if left out. */
	account?: string;
	BACKENDS?: object;
	/** By author, the names of the variables that hold the keys: the Worker's own, or the environment's. */
	PROVIDER_KEYS?: object;
	ROUTES?: object;
	LIMITS?: object;
	MODELS?: object;
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
