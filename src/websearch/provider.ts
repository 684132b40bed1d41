/** A search API: how to ask it, and how to read its answer. A provider knows no account, no key and no price of a request. */
import type { z } from "zod";

/** A page that a search has found: the item of Cloudflare's Web Search. */
export interface SearchItem {
	url: string;
	title: string;
	/** An excerpt of the page, or a summary of it. */
	description?: string;
	imageUrl?: string;
	faviconUrl?: string;
	/** As the provider sent it: ISO 8601, or another form of a date. */
	lastModifiedDate?: string;
}

export interface SearchQuery {
	query: string;
	/** The most items to return. */
	limit: number;
	/** Host names. Only pages of these hosts, and of hosts below them, may be returned. */
	allowedDomains?: readonly string[];
	/** Host names. No pages of these hosts, and of hosts below them, may be returned. */
	blockedDomains?: readonly string[];
	/** ISO 3166-1 alpha-2. */
	country?: string;
}

export interface SearchProvider {
	/** Without a trailing slash. Absent: `WEB_SEARCH` has to name the address. */
	url?: string;
	/** The header of the key. `authorization`: the key is a bearer token. Absent: the provider takes no key. */
	keyHeader?: string;
	/** US dollars for 1,000 searches. */
	usdPerThousand: number;
	/** The path below the address, with its query. `json`: the body. Absent: a GET. */
	request(query: SearchQuery): { path: string; json?: Record<string, unknown> };
	/** Reads an answer. */
	answer(): z.ZodType<SearchItem[]>;
	/** Statuses of a refusal that has another meaning than in HTTP, and the reason for the operator's log. */
	refusals?: Readonly<Record<number, string>>;
}

type SentItem = { [Field in keyof SearchItem]?: SearchItem[Field] | null | undefined };

/** An item without the fields that a provider omitted. A page without a title has its address as its title. */
export function itemOf({ url, title, ...others }: SentItem & { url: string }): SearchItem {
	const present = Object.entries(others).filter(([, value]) => typeof value === "string" && value !== "");
	return { url, title: title || url, ...Object.fromEntries(present) };
}

/** `path` with the parameters of a query. */
export const withQuery = (path: string, query: Readonly<Record<string, string>>): string =>
	`${path}?${new URLSearchParams(query)}`;
