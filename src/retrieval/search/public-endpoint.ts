/**
 * The public endpoint of an instance or of a namespace: a search, a chat and an MCP server without a credential
 * (developers.cloudflare.com/ai-search/configuration/public-endpoint). Off unless the instance or namespace switches it on. Requests run,
 * and are billed, as those of who has switched it on.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { searchFailure } from "./failures.ts";
import { Identifier } from "./identifier.ts";
import { MAX_SEARCHED_INSTANCES } from "./limits.ts";

const MAX_HOSTS = 100;
const MAX_DESCRIPTION_CHARACTERS = 1_024;
const MAX_DOMAINS = 10;
const MAX_DOMAIN_CHARACTERS = 253;
const MAX_REQUESTS = 1_000_000;
const MIN_PERIOD_MS = 1_000;
const MAX_PERIOD_MS = 86_400_000;
const DEFAULT_REQUESTS = 120;
const DEFAULT_PERIOD_MS = 60_000;

const Part = lazy(() => z.object({ disabled: z.boolean().default(false) }).prefault({}));

/** As it is sent. */
export const SentEndpoint = lazy(() =>
	z.object({
		enabled: z.boolean().default(false),
		/** Hosts of web pages that may call it: `docs.example.com`, `http://localhost:3000`, or `*`. Empty: none. */
		authorized_hosts: z
			.array(
				z.string().regex(/^(?:\*|(?:https?:\/\/)?[\w.-]+(?::\d{1,5})?)$/, { error: "expected a host, or *" }),
			)
			.max(MAX_HOSTS)
			.default([]),
		search_endpoint: Part(),
		chat_completions_endpoint: Part(),
		mcp: z
			.object({
				disabled: z.boolean().default(false),
				description: z.string().min(1).max(MAX_DESCRIPTION_CHARACTERS).optional(),
			})
			.prefault({}),
		rate_limit: z
			.object({
				requests: z.int().min(1).max(MAX_REQUESTS).default(DEFAULT_REQUESTS),
				period_ms: z.int().min(MIN_PERIOD_MS).max(MAX_PERIOD_MS).default(DEFAULT_PERIOD_MS),
				technique: z.enum(["fixed", "sliding"]).default("fixed"),
			})
			.prefault({}),
		custom_domains: z.array(z.string().max(MAX_DOMAIN_CHARACTERS)).max(MAX_DOMAINS).nullish(),
		default_domain_enabled: z.boolean().nullish(),
	}),
);
type SentEndpoint = z.output<ReturnType<typeof SentEndpoint>>;

/** Of a namespace. Only the instances of its list are searched. */
export const SentNamespaceEndpoint = lazy(() =>
	SentEndpoint().extend({
		instances_allowed: z.array(Identifier()).max(MAX_SEARCHED_INSTANCES).default([]),
	}),
);
export type SentNamespaceEndpoint = z.output<ReturnType<typeof SentNamespaceEndpoint>>;

type SentDomains = Pick<SentEndpoint, "custom_domains" | "default_domain_enabled">;
export type PublicEndpoint = Omit<SentEndpoint, keyof SentDomains>;
export type NamespaceEndpoint = Omit<SentNamespaceEndpoint, keyof SentDomains>;

/** What {@link storedEndpoint} accepts of the domains. */
const DOMAINS = { custom_domains: [], default_domain_enabled: true } as const;

/**
 * Without the domains: the gateway cannot verify who owns a host, so an account could take the requests of another one. Throws 7093, 7090
 * and 7096.
 */
export function storedEndpoint<Sent extends SentEndpoint>({
	custom_domains: domains,
	default_domain_enabled: isDefaultEnabled,
	...endpoint
}: Sent): Omit<Sent, keyof SentDomains> {
	if (domains?.length) {
		if (!endpoint.enabled) throw searchFailure("searchDomainInactive");
		throw searchFailure("searchDomainUnverified", "a proxy of the host can forward to the endpoint");
	}
	if (isDefaultEnabled === false) throw searchFailure("searchDomainMissing");
	return endpoint;
}

/** As it is shown. */
export const endpointJson = (endpoint: PublicEndpoint): object => ({ ...endpoint, ...DOMAINS });

export type EndpointRate = PublicEndpoint["rate_limit"];

/** Requests of one endpoint, in the period and in the one before. */
export interface PeriodCount {
	period: number;
	requests: number;
	before: number;
}

/**
 * Counts a request, if the limit allows it. `fixed`: as many as the limit in each period. `sliding`: the period before counts by its part that
 * the last `period_ms` have.
 */
export function countPublicRequest(
	last: PeriodCount | undefined,
	{ period_ms: length, requests: limit, technique }: EndpointRate,
	now: number,
): { count: PeriodCount; isAllowed: boolean; retryAfterMs: number } {
	const period = Math.floor(now / length);
	const isNext = last?.period === period - 1;
	const requests = last?.period === period ? last.requests : 0;
	const before = last?.period === period ? last.before : isNext ? last.requests : 0;
	const passed = now - period * length;
	const earlier = technique === "sliding" ? before * (1 - passed / length) : 0;
	const isAllowed = requests + earlier < limit;
	return {
		count: { period, before, requests: isAllowed ? requests + 1 : requests },
		isAllowed,
		retryAfterMs: length - passed,
	};
}

/** The messages without instructions of the caller. What is no list is checked later. */
export const conversationOf = (messages: unknown): unknown =>
	Array.isArray(messages)
		? messages.filter(
				(message) => !isRecord(message) || message.role === "user" || message.role === "assistant",
			)
		: messages;

/** Whether a web page of this origin may call the endpoint. */
export function allowsOrigin(origin: string, { authorized_hosts: hosts }: PublicEndpoint): boolean {
	const url = URL.parse(origin);
	const names = url ? ["*", url.origin, url.host, url.hostname] : [];
	return names.some((name) => hosts.includes(name));
}
