/** The fields that an update of a gateway requires: no cache, no limit, and logs. */
export const GATEWAY_SETTINGS = {
	cache_ttl: 0,
	cache_invalidate_on_update: false,
	collect_logs: true,
	rate_limiting_interval: 0,
	rate_limiting_limit: 0,
};
