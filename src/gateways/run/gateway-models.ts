/** The names of models that a gateway adds to those of the catalogue: its aliases, its dynamic routes, and the models of its custom providers. */
import type { Caller } from "../../pipeline/request.ts";
import { ALIAS } from "../aliases/alias.ts";
import { callObject } from "../client/call-object.ts";
import { customSlug } from "../providers/custom-providers.ts";
import type { GatewayServices } from "../services.ts";
import { DEFAULT_GATEWAY } from "../settings.ts";
import { gatewayOfHeaders } from "./model-in-gateway.ts";
import { DYNAMIC_ROUTE } from "./provider-names.ts";

interface GatewayName {
	account: string;
	id: string;
}

/** The gateway that a request for models concerns: that of the token, the one that the headers name, or `default`. */
export const gatewayOfCaller = ({ account, identity }: Caller, headers: Headers): GatewayName => ({
	account,
	id: identity?.gateway?.id ?? gatewayOfHeaders(headers) ?? DEFAULT_GATEWAY,
});

/** `custom/{name}` and `dynamic/{route}`. A route that is not deployed serves nothing. */
export async function namesInGateway(
	{ account, id }: GatewayName,
	{ aliasPools, deployedRoutes }: Pick<GatewayServices, "aliasPools" | "deployedRoutes">,
): Promise<string[]> {
	const [aliases, routes] = await Promise.all([
		callObject(() => aliasPools.of(account).list(id)),
		callObject(() => deployedRoutes.of(account).list(id)),
	]);
	return [
		...aliases.map(({ name }) => ALIAS + name),
		...routes.flatMap(({ name, deployment }) => (deployment ? [DYNAMIC_ROUTE + name] : [])),
	];
}

/** Whether the name is one of a custom provider, `custom-{slug}/{model}`, which has all names. */
export async function isOfCustomProvider(
	name: string,
	{ account, id }: GatewayName,
	{ providerAccesses }: Pick<GatewayServices, "providerAccesses">,
): Promise<boolean> {
	const [provider = "", model] = name.split("/", 2);
	const slug = customSlug(provider);
	if (slug === undefined || !model) return false;
	const { customProviders } = await providerAccesses.find(account, id);
	return customProviders.some((provider) => provider.slug === slug);
}
