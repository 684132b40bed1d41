/**
 * Whether an engine charges its operator for each request, and whether anything says how much. The address of the engine decides, not the name of the model:
 * `google/gemma` may run on an engine of one's own, and `fast` may be a provider's model. A provider behind an address
 * that is not its own is not recognised.
 */
import type { Model } from "../models/model.ts";
import { isThirdPartyId } from "../models/third-party.ts";
import type { Routing, WeightedTarget } from "../request.ts";
import { AUTHORS } from "./authors.ts";

/** By address. The configuration bounds their number. */
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

/** A provider does, at a price that only it knows. */
export function chargesFor(
	{ binding, urls }: Pick<WeightedTarget, "binding" | "urls">,
	model: string,
): boolean {
	// The binding may lead to another gateway like this one.
	if (binding) return isThirdPartyId(model);
	// A model of the product without a price in the catalogue is free there.
	const isProduct = model.startsWith("@");
	return urls.map(originOf).some((origin) => PROVIDERS.has(origin) || (!isProduct && CLOUDFLARE.has(origin)));
}
