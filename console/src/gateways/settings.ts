/** The settings of a gateway as the fields of a form. Settings without a field of their own are JSON, in one field. */
import type { GatewaySettings, SpendRule } from "../../../src/gateways/settings.ts";
import { objectIn } from "../parts/json.ts";

/** Numbers are the text that is typed. An empty one is no rule. */
export interface GatewayFields {
	id: string;
	cacheSeconds: string;
	emptiesCache: boolean;
	requests: string;
	requestSeconds: string;
	technique: "fixed" | "sliding";
	keepsLogs: boolean;
	maxLogs: string;
	withoutOperatorKeys: boolean;
	enforcesSpendLimits: boolean;
	spendRules: readonly SpendRule[];
	others: string;
}

const NEW: GatewayFields = {
	id: "",
	cacheSeconds: "",
	emptiesCache: false,
	requests: "",
	requestSeconds: "",
	technique: "fixed",
	keepsLogs: true,
	maxLogs: "",
	withoutOperatorKeys: false,
	enforcesSpendLimits: true,
	spendRules: [],
	others: "",
};

/** A change must have these. */
const REQUIRED: ReadonlySet<string> = new Set([
	"cache_ttl",
	"cache_invalidate_on_update",
	"collect_logs",
	"rate_limiting_interval",
	"rate_limiting_limit",
]);

/** `gateway` absent: a new one. */
export function fieldsOf(gateway: GatewaySettings | undefined): GatewayFields {
	if (!gateway) return NEW;
	const {
		id,
		created_at: _created,
		modified_at: _modified,
		is_default: _isDefault,
		cache_ttl,
		cache_invalidate_on_update,
		rate_limiting_limit,
		rate_limiting_interval,
		rate_limiting_technique,
		collect_logs,
		log_management,
		byok_only,
		spend_limits,
		...others
	} = gateway;
	const hasFields = spend_limits?.rules.every(isPlain) ?? true;
	const set = Object.entries(hasFields ? others : { ...others, spend_limits }).filter(
		([, value]) => value !== null,
	);
	return {
		id,
		cacheSeconds: textOf(cache_ttl),
		emptiesCache: cache_invalidate_on_update,
		requests: textOf(rate_limiting_limit),
		requestSeconds: textOf(rate_limiting_interval),
		technique: rate_limiting_technique ?? NEW.technique,
		keepsLogs: collect_logs,
		maxLogs: textOf(log_management),
		withoutOperatorKeys: byok_only ?? false,
		enforcesSpendLimits: spend_limits?.enabled ?? true,
		spendRules: hasFields ? (spend_limits?.rules ?? []) : [],
		others: set.length > 0 ? JSON.stringify(Object.fromEntries(set), null, 2) : "",
	};
}

/**
 * What the form changes, as the API takes it: the API keeps what a change does not contain, so what another client has set meanwhile stays.
 * A setting that is removed is `null`. `before`: the fields with which the form was opened. Throws an error with a sentence if `others` is
 * no JSON object, or has a setting with a field of its own.
 */
export function settingsOf(fields: GatewayFields, before: GatewayFields): object {
	const now = allSettings(fields);
	const was = allSettings(before);
	const removed = Object.keys(was).flatMap((name) => (Object.hasOwn(now, name) ? [] : [[name, null]]));
	const changed = Object.entries(now).filter(
		([name, value]) => REQUIRED.has(name) || JSON.stringify(value) !== JSON.stringify(was[name]),
	);
	return Object.fromEntries([...removed, ...changed]);
}

function allSettings(fields: GatewayFields): Record<string, unknown> {
	const others = objectIn(fields.others, "Other settings", '{"retry_max_attempts": 3}');
	const own = {
		cache_ttl: Number(fields.cacheSeconds),
		cache_invalidate_on_update: fields.emptiesCache,
		rate_limiting_limit: Number(fields.requests),
		rate_limiting_interval: Number(fields.requestSeconds),
		rate_limiting_technique: fields.technique,
		collect_logs: fields.keepsLogs,
		log_management: fields.maxLogs === "" ? null : Number(fields.maxLogs),
		byok_only: fields.withoutOperatorKeys,
		...(fields.spendRules.length > 0 && {
			spend_limits: { enabled: fields.enforcesSpendLimits, rules: fields.spendRules },
		}),
	};
	const repeated = Object.keys(others).find((name) => Object.hasOwn(own, name));
	if (repeated !== undefined) throw new Error(`Other settings: ${repeated} has a field above`);
	return { ...others, ...own };
}

/** Whether the form has a field for all that the rule says. */
const isPlain = ({ enabled, metadata, model, provider }: SpendRule): boolean =>
	enabled !== false && metadata === undefined && model === undefined && provider === undefined;

const textOf = (value: number | null | undefined): string => (value ? String(value) : "");
