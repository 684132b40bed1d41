/** Bounds the items of a provider's answer. They are untrusted: pages of the web decide their text. */
import type { SearchItem, SearchQuery } from "./provider.ts";

/** Characters of the product's longest description. */
const MAX_DESCRIPTION = 8_000;
const MAX_TITLE = 500;
const MAX_URL = 2_048;
const MAX_DATE = 64;

/** At most as many items as requested, of the requested domains, without addresses that are not of the web. */
export const boundedItems = (
	items: readonly SearchItem[],
	{ limit, allowedDomains, blockedDomains }: Omit<SearchQuery, "query">,
): SearchItem[] =>
	items
		.filter(({ url }) => isWebAddress(url))
		.filter(({ url }) => !allowedDomains?.length || isBelow(url, allowedDomains))
		.filter(({ url }) => !blockedDomains?.length || !isBelow(url, blockedDomains))
		.slice(0, limit)
		.map(bounded);

/** A parser of addresses drops or encodes these, so a text with them may be an address, and begin other lines for a model or a terminal. */
const DROPPED = /[\s\p{Cc}\p{Cf}]/u;

const address = (url: string): string => (DROPPED.test(url) ? (URL.parse(url)?.href ?? "") : url);

const isWebAddress = (url: string): boolean =>
	url.length <= MAX_URL && /^https?:$/.test(URL.parse(url)?.protocol ?? "");

/** `example.com/docs` also limits the path, as in Anthropic's API. */
function isBelow(address: string, domains: readonly string[]): boolean {
	const { hostname, pathname } = new URL(address);
	return domains.some((domain) => {
		const [host = "", ...path] = domain.toLowerCase().split("/");
		const isHost = hostname === host || hostname.endsWith(`.${host}`);
		return isHost && (path.length === 0 || pathname.startsWith(`/${path.join("/")}`));
	});
}

function bounded({
	url,
	title,
	description,
	imageUrl,
	faviconUrl,
	lastModifiedDate,
}: SearchItem): SearchItem {
	return {
		url: address(url),
		title: line(title, MAX_TITLE),
		...(description !== undefined && { description: text(description, MAX_DESCRIPTION) }),
		...(imageUrl !== undefined && isWebAddress(imageUrl) && { imageUrl: address(imageUrl) }),
		...(faviconUrl !== undefined && isWebAddress(faviconUrl) && { faviconUrl: address(faviconUrl) }),
		...(lastModifiedDate !== undefined && { lastModifiedDate: line(lastModifiedDate, MAX_DATE) }),
	};
}

/** Control characters have no place in a text for a model or a terminal. */
const CONTROL = /[\p{Cc}\p{Cf}]/gu;
const LINE = /[\n\t]/;

export const text = (sent: string, max: number): string =>
	sent
		.slice(0, max)
		.toWellFormed()
		.replace(CONTROL, (character) => (LINE.test(character) ? character : ""));

/** A title or a date that begins another line could be the address of another page. */
const line = (sent: string, max: number): string => text(sent, max).replaceAll(/\s+/g, " ").trim();
