import type { SpendRule } from "../../../src/gateways/settings.ts";
import { dollars, integer } from "../parts/format.ts";
import type { GatewayRow } from "./records.ts";

/** Names of usual windows, by their seconds. */
export const WINDOWS: Readonly<Record<number, string>> = {
	3600: "hour",
	86400: "day",
	604800: "week",
	2592000: "30 days",
};

/** `day`, or `90 s`. */
export const windowText = (seconds: number): string => WINDOWS[seconds] ?? `${integer(seconds)} s`;

/** What is set for each request, in a few words. */
export function rulesOf(gateway: GatewayRow): string[] {
	const { cache_ttl, rate_limiting_limit: limit, rate_limiting_interval: interval } = gateway;
	const { guardrails, retry_max_attempts: attempts, spend_limits: spend } = gateway;
	const guarded = Object.keys({ ...guardrails?.prompt, ...guardrails?.response }).length > 0;
	const collectors = gateway.otel?.length ?? 0;
	return [
		cache_ttl ? `cache ${integer(cache_ttl)} s` : "",
		limit && interval ? `${integer(limit)} requests a ${windowText(interval)}` : "",
		...(spend?.enabled ? spend.rules.filter(({ enabled }) => enabled !== false).map(spendText) : []),
		guarded ? "guardrails" : "",
		gateway.dlp?.enabled ? "data-loss prevention" : "",
		attempts && attempts > 1 ? `${attempts} attempts` : "",
		gateway.byok_only ? "stored keys only" : "",
		collectors > 0 ? `${collectors === 1 ? "a collector" : `${collectors} collectors`} of traces` : "",
		gateway.collect_logs ? "" : "no logs",
	].filter(Boolean);
}

const spendText = ({ limit, window }: SpendRule): string => `${dollars(limit)} a ${windowText(window)}`;
