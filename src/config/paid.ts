/**
 * Whether a backend charges the operator for each request, and whether the price is known. The address decides, not the
 * model's name: `google/gemma` may run on a self-hosted engine, and `fast` may be a provider's model. A provider behind
 * another address (a proxy) is not recognised.
 */
import type { Model } from "../models/model.ts";
import { isThirdPartyId } from "../models/third-party.ts";
import type { Routing, WeightedTarget } from "../request.ts";
import { AUTHORS } from "./authors.ts";

/** Origin by address. The configuration limits the number of addresses. */
const origins = new Map<string, string | undefined>();

function originOf(url: string): string | undefined {
	if (!origins.has(url)) origins.set(url, URL.parse(url)?.origin);
	return origins.get(url);
}

const PROVIDERS: ReadonlySet<string | undefined> = new Set(
	Object.values(AUTHORS).map(({ url }) => originOf(url)),
);

const CLOUDFLARE: ReadonlySet<string | undefined> = new Set([
	"https://api.cloudflare.com",
	"https://gateway.ai.cloudflare.com",
]);

/** The model has no price, and a target of its route is an engine whose requests cost an unknown amount. */
export function isUnpriced(model: Pick<Model, "id" | "prices">, routing: Routing): boolean {
	if (model.prices.length > 0) return false;
	const route = routing.find(model.id);
	return route?.targets.some((target) => isOwnEngine(target) || chargesFor(target, model.id)) ?? false;
}

/** The simulator is free, and Workers AI has the prices of the catalogue. */
export const isOwnEngine = ({ kind }: Pick<WeightedTarget, "kind">): boolean =>
	kind !== "simulator" && kind !== "workers-ai";

/** Whether the target is a provider that charges for this model, at a price that is not configured. */
export function chargesFor(
	{ binding, urls }: Pick<WeightedTarget, "binding" | "urls">,
	model: string,
): boolean {
	// The binding may be another Ganglion, which serves third-party models, too.
	if (binding) return isThirdPartyId(model);
	// A model of the product without a price in the catalogue is free there.
	const isProduct = model.startsWith("@");
	return urls.map(originOf).some((origin) => PROVIDERS.has(origin) || (!isProduct && CLOUDFLARE.has(origin)));
}
