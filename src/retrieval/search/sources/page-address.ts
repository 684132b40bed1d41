/** Which addresses of a website are pages of a source. */
import { isPublicHost } from "../../../gateways/providers/public-host.ts";
import { matchesGlob } from "./globs.ts";
import type { SourceConfig, SourceSettings } from "./source-config.ts";

/** A longer address is no key of an item. */
const MAX_ADDRESS_CHARACTERS = 1_024;

/** The absolute address without a fragment. `undefined`: it is no address of a page. */
export function pageAddress(link: string, base: string): string | undefined {
	const url = URL.parse(link, base);
	if (!url || (url.protocol !== "https:" && url.protocol !== "http:") || url.username || url.password)
		return undefined;
	url.hash = "";
	return url.href.length > MAX_ADDRESS_CHARACTERS ? undefined : url.href;
}

const withoutWww = (host: string): string => host.replace(/^www\./, "");

/** Whether the address belongs to the source's website, and may be called. */
export function isInside(
	address: string,
	{ source, source_params: { web_crawler: crawl } }: SourceConfig,
	{ allowPrivateAddresses }: Pick<SourceSettings, "allowPrivateAddresses">,
): boolean {
	const { host, hostname } = new URL(address);
	if (!allowPrivateAddresses && !isPublicHost(hostname)) return false;
	const own = withoutWww(new URL(source).host);
	const other = withoutWww(host);
	return other === own || (crawl.discover_options.include_subdomains && other.endsWith(`.${own}`));
}

/** A pattern is for the whole address, or for its path. */
const matches = (patterns: readonly string[], address: string): boolean =>
	matchesGlob(patterns, address) || matchesGlob(patterns, new URL(address).pathname);

export const isExcluded = (address: string, { source_params: { exclude_items } }: SourceConfig): boolean =>
	matches(exclude_items, address);

/** Other pages are read for their links only. */
export const isIncluded = (address: string, { source_params: { include_items } }: SourceConfig): boolean =>
	include_items.length === 0 || matches(include_items, address);
