/**
 * Whether a backend charges the operator for each request, and whether the price is known. The address decides, not the
 * model's name: `google/gemma` may run on a self-hosted engine, and `fast` may be a provider's model. A provider behind
 * another address (a proxy) is not recognised.
 */
import type { Target } from "../backends/backend.ts";
import { KINDS, type KindFacts } from "../backends/kinds.ts";
import { own } from "../core/own.ts";
import { isProductId } from "../models/model.ts";
import { isThirdPartyId } from "../models/third-party.ts";
import { PROVIDERS } from "./providers.ts";

const kinds: Readonly<Record<string, KindFacts>> = KINDS;

const originOf = (url: string): string | undefined => URL.parse(url)?.origin;

const PROVIDER_ORIGINS: ReadonlySet<string | undefined> = new Set(
	Object.values(PROVIDERS).map(({ url }) => originOf(url)),
);

const CLOUDFLARE_ORIGINS: ReadonlySet<string | undefined> = new Set([
	"https://api.cloudflare.com",
	"https://gateway.ai.cloudflare.com",
]);

/** The simulator is free, and Workers AI has the prices of the catalogue. */
export const isOwnEngine = ({ kind }: Pick<Target, "kind">): boolean => !own(kinds, kind)?.isProduct;

/** Whether the backend is a provider that charges for this model, at a price that is not configured. */
export function chargesFor(
	{ binding, urls }: Pick<Target, "binding"> & { urls: readonly string[] },
	model: string,
): boolean {
	// The binding may be another Ganglion, which serves third-party models, too.
	if (binding) return isThirdPartyId(model);
	// A model of the product without a price in the catalogue is free there.
	const isProduct = isProductId(model);
	return urls
		.map(originOf)
		.some((origin) => PROVIDER_ORIGINS.has(origin) || (!isProduct && CLOUDFLARE_ORIGINS.has(origin)));
}
