/** Where the items of an instance come from, besides uploads: a bucket of R2 or a website. The fields have the names of the product. */
import * as z from "zod";
import { AiError } from "../../../core/errors.ts";
import { lazy } from "../../../core/lazy.ts";
import { isPublicHost } from "../../../gateways/providers/public-host.ts";
import { searchFailure } from "../failures.ts";
import { alternativesOf } from "./globs.ts";

/** developers.cloudflare.com/ai-search/configuration/path-filtering */
const MAX_PATTERNS = 10;
const MAX_PATTERN_CHARACTERS = 256;
const MAX_SOURCE_CHARACTERS = 1_024;
const MAX_SITEMAPS = 10;
export const MIN_SYNC_SECONDS = 900;
export const MAX_SYNC_SECONDS = 86_400;
export const DEFAULT_SYNC_SECONDS = 21_600;
const MAX_AGE_SECONDS = 604_800;
const MAX_PAGES = 100_000;
const DEFAULT_PAGES = 1_000;
const DEFAULT_DEPTH = 5;

const Patterns = lazy(() =>
	z
		.array(
			z
				.string()
				.min(1)
				.max(MAX_PATTERN_CHARACTERS)
				.refine((pattern) => alternativesOf(pattern) !== undefined, {
					error: "expected a path with *, **, ? and {a,b} only",
				}),
		)
		.max(MAX_PATTERNS)
		.default([]),
);

const Crawl = lazy(() =>
	z.object({
		parse_type: z.enum(["sitemap", "discover"]).default("sitemap"),
		parse_options: z
			.object({
				specific_sitemaps: z
					.array(z.url({ protocol: /^https?$/ }))
					.max(MAX_SITEMAPS)
					.optional(),
			})
			.prefault({}),
		discover_options: z
			.object({
				depth: z.int().min(1).max(MAX_PAGES).default(DEFAULT_DEPTH),
				limit: z.int().min(1).max(MAX_PAGES).default(DEFAULT_PAGES),
				include_subdomains: z.boolean().default(false),
				max_age: z.int().min(0).max(MAX_AGE_SECONDS).default(0),
				source: z.enum(["all", "sitemaps", "links"]).default("all"),
			})
			.prefault({}),
	}),
);

export const SourceParams = lazy(() =>
	z.object({
		prefix: z.string().max(MAX_SOURCE_CHARACTERS).default(""),
		include_items: Patterns(),
		exclude_items: Patterns(),
		web_crawler: Crawl().prefault({}),
	}),
);
export type SourceParams = z.output<ReturnType<typeof SourceParams>>;

export interface SourceConfig {
	type: "r2" | "web-crawler";
	/** The name of a bucket of `AI_SEARCH.buckets`, or the address of a website. */
	source: string;
	source_params: SourceParams;
}

export const SourceFields = lazy(() => ({
	type: z.enum(["r2", "web-crawler"]).nullish(),
	source: z.string().max(MAX_SOURCE_CHARACTERS).nullish(),
	source_params: SourceParams().nullish(),
	sync_interval: z.int().min(MIN_SYNC_SECONDS).max(MAX_SYNC_SECONDS).optional(),
}));

/** A bucket whose objects may be indexed. */
export interface SourceBucket {
	bucket: Pick<R2Bucket, "get" | "list">;
	/** Absent: all accounts. */
	accounts?: readonly string[] | undefined;
}

/** What the operator allows. */
export interface SourceSettings {
	buckets: ReadonlyMap<string, SourceBucket>;
	/** Instances may have websites as sources. */
	allowNetwork: boolean;
	allowPrivateAddresses: boolean;
	/** Pages of one crawl. */
	maxPages: number;
}

type SentSource = {
	type?: SourceConfig["type"] | null | undefined;
	source?: string | null | undefined;
	source_params?: SourceParams | null | undefined;
};

/** The source after a change. `null` or an empty name removes it; what is left out stays. The type is that of the name, if it is left out. */
export function sourceAfter(
	{ source, source_params: params, type }: SentSource,
	before: SourceConfig | undefined,
): SourceConfig | undefined {
	const name = source === undefined ? before?.source : source;
	if (!name) {
		if (type || (params && source === undefined))
			throw invalid("source: expected the name of a bucket or an address");
		return undefined;
	}
	const inferred = /^https?:\/\//i.test(name) || name.includes(".") ? "web-crawler" : "r2";
	const kind = type ?? (source === undefined ? before?.type : undefined) ?? inferred;
	return {
		type: kind,
		source: kind === "r2" ? name : websiteOf(name),
		source_params: params ?? before?.source_params ?? SourceParams().parse({}),
	};
}

/** The address of a website, with its protocol. */
function websiteOf(sent: string): string {
	const url = URL.parse(/^https?:\/\//i.test(sent) ? sent : `https://${sent}`);
	if (!url || url.username || url.password || url.search)
		throw invalid(
			"source: expected an address such as https://docs.example.com, without credentials and query",
		);
	url.hash = "";
	return url.href;
}

/** Throws 7017 for a website without `allow_network`, and 1001 for a bucket or an address that the operator does not allow. */
export function checkSource(
	{ source, type }: SourceConfig,
	account: string,
	{ allowNetwork, allowPrivateAddresses, buckets }: SourceSettings,
): void {
	if (type === "r2") {
		const bucket = buckets.get(source);
		if (bucket && (bucket.accounts?.includes(account) ?? true)) return;
		throw invalid("source: expected the name of a bucket of AI_SEARCH.buckets that this account may read");
	}
	if (!allowNetwork)
		throw searchFailure("searchUnreachable", "a website as source needs AI_SEARCH.allow_network");
	if (!allowPrivateAddresses && !isPublicHost(new URL(source).hostname))
		throw invalid("source: expected a public address");
}

const invalid = (problem: string): AiError => new AiError("invalidRequest", problem);

/** The `source_id` of the items of a source. */
export const sourceId = ({ source, type }: Pick<SourceConfig, "source" | "type">): string =>
	`${type}:${source}`;
