/** What the searches need, in addition to the pipeline's services. Types only. */
import type { ProviderKey } from "../gateways/providers/provider-keys.ts";
import type { Services } from "../pipeline/services.ts";
import type { WebSearchSettings } from "./settings.ts";

export interface SearchServices extends Services {
	/** `WEB_SEARCH`. Absent: no provider is set up. */
	webSearch?: WebSearchSettings;
	/** The keys of the gateway in which the request runs. Absent: it runs in none. */
	searchKeys?(): Promise<readonly ProviderKey[]>;
}
