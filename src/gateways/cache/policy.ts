/** Whether a request uses the cache. */
import type { GatewayOptions } from "../options.ts";
import type { GatewaySettings } from "../settings.ts";

/** For a request with a key of its own, if neither it nor the gateway has a time. */
const DEFAULT_TTL_SECONDS = 300;
/** A shorter `cf-aig-cache-ttl` is ignored, except 0. */
const MIN_TTL_SECONDS = 60;
const MAX_TTL_SECONDS = 31 * 24 * 3_600;

interface CachePolicy {
	/** How long a stored answer is valid, in seconds. */
	ttlSeconds: number;
}

/**
 * `undefined`: the cache is neither read nor written. It is used if the gateway has a `cache_ttl`, or if the request has a cache key or
 * a time of at least a minute. A time of 0 and `cf-aig-skip-cache` turn it off for the request.
 */
export function cachePolicy(
	{ skipCache, cacheTtl, cacheKey }: Pick<GatewayOptions, "skipCache" | "cacheTtl" | "cacheKey">,
	{ cache_ttl }: Pick<GatewaySettings, "cache_ttl">,
): CachePolicy | undefined {
	if (skipCache || cacheTtl === 0) return undefined;
	const requested = cacheTtl !== undefined && cacheTtl >= MIN_TTL_SECONDS ? cacheTtl : undefined;
	const ttl = requested ?? (cache_ttl || (cacheKey === undefined ? undefined : DEFAULT_TTL_SECONDS));
	return ttl === undefined ? undefined : { ttlSeconds: Math.min(ttl, MAX_TTL_SECONDS) };
}
