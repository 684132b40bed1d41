/**
 * Whether an engine costs its operator money by what it is asked. Told by the addresses of the route, not by the
 * model's name: `google/gemma` may be one's own engine, and `fast` may be a provider's.
 *
 * A provider behind an address that is not its own is not known for one.
 */
import { AUTHORS } from "../config/authors.ts";
import type { Model } from "../models/model.ts";
import { isThirdPartyId } from "../models/third-party.ts";
import type { Routing, WeightedTarget } from "../request.ts";

/** Of addresses of the configuration: as many as there are. */
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

/** Somebody is paid for the model, and nobody knows how much. The operator may say that it costs nothing. */
export function isUnpriced(model: Pick<Model, "id" | "prices">, routing: Routing): boolean {
	if (model.prices.length > 0) return false;
	const route = routing.find(model.id);
	return route?.targets.some((target) => isPaid(target, model.id)) ?? false;
}

function isPaid({ binding, urls }: WeightedTarget, model: string): boolean {
	// May be another gateway like this one.
	if (binding) return isThirdPartyId(model);
	// The product's own models that have no price in the catalogue have none there.
	const isOwn = model.startsWith("@");
	return urls.map(originOf).some((origin) => PROVIDERS.has(origin) || (!isOwn && CLOUDFLARE.has(origin)));
}
