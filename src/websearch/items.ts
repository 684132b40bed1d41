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
		.flatMap((item) => {
			const url = webAddress(item.url);
			return url === undefined ? [] : [{ ...item, url }];
		})
		.filter(({ url }) => !allowedDomains?.length || isBelow(url, allowedDomains))
		.filter(({ url }) => !blockedDomains?.length || !isBelow(url, blockedDomains))
		.slice(0, limit)
		.map(bounded);

/** The parser of URLs removes or encodes them, so it also accepts a text of several lines, which a model would read as further results. */
const CHANGED_BY_PARSER = /[\s\p{Cc}\p{Cf}]/u;

/** `undefined`: no address of the web, or too long. */
function webAddress(sent = ""): string | undefined {
	const parsed = URL.parse(sent);
	if (!parsed || !/^https?:$/.test(parsed.protocol)) return undefined;
	const url = CHANGED_BY_PARSER.test(sent) ? parsed.href : sent;
	return url.length <= MAX_URL ? url : undefined;
}

/** `example.com/docs` also limits the path, as in Anthropic's API. */
function isBelow(address: string, domains: readonly string[]): boolean {
	const { hostname, pathname } = new URL(address);
	return domains.some((domain) => {
		const [host = "", ...path] = domain.toLowerCase().split("/");
		const isHost = hostname === host || hostname.endsWith(`.${host}`);
		return isHost && (path.length === 0 || pathname.startsWith(`/${path.join("/")}`));
	});
}

function bounded({ description, lastModifiedDate, title, url, ...icons }: SearchItem): SearchItem {
	const imageUrl = webAddress(icons.imageUrl);
	const faviconUrl = webAddress(icons.faviconUrl);
	return {
		url,
		title: oneLine(title, MAX_TITLE),
		...(description !== undefined && { description: text(description, MAX_DESCRIPTION) }),
		...(imageUrl !== undefined && { imageUrl }),
		...(faviconUrl !== undefined && { faviconUrl }),
		...(lastModifiedDate !== undefined && { lastModifiedDate: oneLine(lastModifiedDate, MAX_DATE) }),
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
const oneLine = (sent: string, max: number): string => text(sent, max).replaceAll(/\s+/g, " ").trim();
