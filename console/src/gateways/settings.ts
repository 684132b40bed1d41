/** The settings of a gateway as the fields of a form. Settings without a field of their own are JSON, in one field. */
import type { SpendRule } from "../../../src/gateways/settings.ts";
import type { GatewayRow } from "./records.ts";

/** Numbers are the text that is typed. An empty one is no rule. */
export interface GatewayFields {
	id: string;
	cacheSeconds: string;
	requests: string;
	requestSeconds: string;
	technique: "fixed" | "sliding";
	collectsLogs: boolean;
	maxLogs: string;
	storedKeysOnly: boolean;
	spends: boolean;
	spendRules: readonly SpendRule[];
	others: string;
}

const NEW: GatewayFields = {
	id: "",
	cacheSeconds: "",
	requests: "",
	requestSeconds: "",
	technique: "fixed",
	collectsLogs: true,
	maxLogs: "",
	storedKeysOnly: false,
	spends: true,
	spendRules: [],
	others: "",
};

/** `gateway` absent: a new one. */
export function fieldsOf(gateway: GatewayRow | undefined): GatewayFields {
	if (!gateway) return NEW;
	const {
		id,
		created_at: _created,
		modified_at: _modified,
		is_default: _isDefault,
		cache_ttl,
		rate_limiting_limit,
		rate_limiting_interval,
		rate_limiting_technique,
		collect_logs,
		log_management,
		byok_only,
		spend_limits,
		...others
	} = gateway;
	const set = Object.entries(others).filter(([, value]) => value !== null);
	return {
		id,
		cacheSeconds: textOf(cache_ttl),
		requests: textOf(rate_limiting_limit),
		requestSeconds: textOf(rate_limiting_interval),
		technique: rate_limiting_technique ?? NEW.technique,
		collectsLogs: collect_logs,
		maxLogs: textOf(log_management),
		storedKeysOnly: byok_only ?? false,
		spends: spend_limits?.enabled ?? true,
		spendRules: spend_limits?.rules ?? [],
		others: set.length > 0 ? JSON.stringify(Object.fromEntries(set), null, 2) : "",
	};
}

/**
 * The settings that the API takes. A change keeps what it does not contain, so a setting that is removed from `others` is `null`.
 * `before`: the fields of the stored gateway. Throws an error with a sentence if `others` is no JSON object.
 */
export function settingsOf(fields: GatewayFields, before: GatewayFields): object {
	const removed = Object.keys(objectIn(before.others)).map((name) => [name, null]);
	return {
		...Object.fromEntries(removed),
		...objectIn(fields.others),
		cache_ttl: Number(fields.cacheSeconds),
		rate_limiting_limit: Number(fields.requests),
		rate_limiting_interval: Number(fields.requestSeconds),
		rate_limiting_technique: fields.technique,
		collect_logs: fields.collectsLogs,
		log_management: fields.maxLogs === "" ? null : Number(fields.maxLogs),
		byok_only: fields.storedKeysOnly,
		spend_limits: fields.spendRules.length > 0 ? { enabled: fields.spends, rules: fields.spendRules } : null,
	};
}

const textOf = (value: number | null | undefined): string => (value ? String(value) : "");

function objectIn(text: string): object {
	if (text.trim() === "") return {};
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		throw new Error("Other settings: this is not JSON");
	}
	if (typeof value !== "object" || value === null || Array.isArray(value))
		throw new Error('Other settings: expected a JSON object such as {"retry_max_attempts": 3}');
	return value;
}
