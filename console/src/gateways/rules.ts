import type { GatewaySettings, SpendRule } from "../../../src/gateways/settings.ts";
import { dollars, integer } from "../parts/format.ts";

/** Usual windows, by their seconds. */
export const WINDOWS: Readonly<Record<number, string>> = {
	60: "a minute",
	3600: "an hour",
	86400: "a day",
	604800: "a week",
	2592000: "in 30 days",
};

/** `a day`, or `in 90 s`. */
export const windowText = (seconds: number): string => WINDOWS[seconds] ?? `in ${integer(seconds)} s`;

/** What is set for each request, in a few words. */
export function rulesOf(gateway: GatewaySettings): string[] {
	const { cache_ttl, rate_limiting_limit: limit, rate_limiting_interval: interval } = gateway;
	const { guardrails, retry_max_attempts: attempts, spend_limits: spend } = gateway;
	const isGuarded = Object.keys({ ...guardrails?.prompt, ...guardrails?.response }).length > 0;
	const collectors = gateway.otel?.length ?? 0;
	return [
		cache_ttl ? `cache ${integer(cache_ttl)} s` : "",
		limit && interval ? `${integer(limit)} requests ${windowText(interval)}` : "",
		...(spend?.enabled ? spend.rules.filter(({ enabled }) => enabled !== false).map(spendText) : []),
		isGuarded ? "guardrails" : "",
		gateway.dlp?.enabled ? "data-loss prevention" : "",
		attempts && attempts > 1 ? `${attempts} attempts` : "",
		gateway.byok_only ? "without the operator's keys" : "",
		collectors > 0 ? `${collectors === 1 ? "a collector" : `${collectors} collectors`} of traces` : "",
		gateway.collect_logs ? "" : "no logs",
	].filter(Boolean);
}

/** `$5 a day for each user, of some requests` */
function spendText({ limit, window, metadata = {}, model, provider }: SpendRule): string {
	const keys = Object.entries(metadata);
	const partitions = keys.filter(([, { mode }]) => mode === "partition").map(([key]) => key);
	const isFiltered = model !== undefined || provider !== undefined || partitions.length < keys.length;
	const each = partitions.length > 0 ? ` for each ${partitions.join(" and ")}` : "";
	return `${dollars(limit)} ${windowText(window)}${each}${isFiltered ? ", of some requests" : ""}`;
}
