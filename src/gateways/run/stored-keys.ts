/** The keys of search providers that a gateway stores, read when a request searches. */
import type { SearchKeys } from "../../websearch/services.ts";
import type { GatewayServices } from "../services.ts";
import type { GatewaySettings } from "../settings.ts";

export const storedKeys =
	(
		account: string,
		{ id }: Pick<GatewaySettings, "id">,
		{ providerAccesses }: GatewayServices,
	): SearchKeys["find"] =>
	async () =>
		(await providerAccesses.find(account, id)).keys;
