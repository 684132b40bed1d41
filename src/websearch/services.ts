/** What the searches need, in addition to the pipeline's services. Types only. */
import type { AiError } from "../core/errors.ts";
import type { PipelineServices } from "../pipeline/services.ts";
import type { ProviderKey } from "../providers/provider-key.ts";
import type { WebSearchSettings } from "./settings.ts";

export interface SearchServices extends PipelineServices {
	/** `WEB_SEARCH`. Absent: no provider is set up. */
	webSearch?: WebSearchSettings;
	/** Absent: the request runs in no gateway. */
	searchKeys?: SearchKeys;
	/** Logs a failure for the operator, without any content of the request. */
	log(error: AiError, requestId: string): void;
}

/** The keys of the gateway in which a request runs. */
export interface SearchKeys {
	find(): Promise<readonly ProviderKey[]>;
	/** A search with such a key has ended. `usd`: what the account pays for it. */
	used(usd: number): void;
}
