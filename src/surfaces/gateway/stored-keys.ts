/** The keys of search providers that a gateway stores, read when a request searches. */
import type { GatewaySettings } from "../../gateways/settings.ts";
import type { AppServices } from "../../http/services.ts";
import type { SearchKeys } from "../../websearch/services.ts";

export const storedKeys =
	(
		account: string,
		{ id }: Pick<GatewaySettings, "id">,
		{ providerAccesses }: AppServices,
	): SearchKeys["find"] =>
	async () =>
		(await providerAccesses.find(account, id)).keys;
