/** `LIMITS`: limits of one request and of one account. */
import * as z from "zod";
import { present } from "../core/present.ts";
import type { KeepingLimits } from "../gateways/services.ts";
import { COUNTED_RATES, COUNTED_TITLES, TASK_RATES } from "../models/rates.ts";
import { TASK_TITLES, type TaskTitle } from "../models/tasks.ts";
import type { AccountLimits } from "../pipeline/limits.ts";
import { kindOf } from "../schemas/explain.ts";
import { amount, MAX_TIMER_MS, positiveCount, wholeCount } from "./amounts.ts";
import { camelCased } from "./camel-case.ts";
import { keptBytesOf, MIN_KEPT_BYTES } from "./capacity.ts";

const DEFAULT_JSON_BYTES = 10_000_000;
const DEFAULT_UPLOAD_BYTES = 25 * 1024 * 1024;
const DEFAULT_JSON_DEPTH = 64;
/** 25 MiB at 0.7 Mbit/s. */
const DEFAULT_BODY_MS = 5 * 60 * 1000;
const DEFAULT_CACHE_BYTES = 256 * 1024 * 1024;
const DEFAULT_CACHE_ENTRY_BYTES = 8 * 1024 * 1024;
/** The runtime sends at most 32 MiB in one call of an object. */
const MAX_CACHE_ENTRY_BYTES = 25 * 1024 * 1024;
/** Longer than any answer (`total_ms` is 10 minutes by default, and a live session is longer). */
const DEFAULT_HOLD_MS = 60 * 60 * 1000;
/** The allocation of the product's Free plan. */
const FREE_DAILY_NEURONS = 10_000;

const count = positiveCount;
const keptBytes = positiveCount.min(MIN_KEPT_BYTES);
const KEPT_BYTES = keptBytesOf();
const neurons = amount;

const ModelEntry = z.strictObject({
	requests_per_minute: count.optional(),
	daily_neurons: neurons.optional(),
	monthly_neurons: neurons.optional(),
});

/** Unlike those of `ROUTES`, they are no patterns: the ledger counts by model. */
const ModelId = z.string().regex(/^[^\s*]+$/, {
	error: "expected the id of one model, found spaces, a pattern or nothing",
});

const RATE_TITLES = [...TASK_TITLES, ...COUNTED_TITLES] as const;

/**
 * `product`: the rates of Cloudflare. Otherwise rates by task; tasks that are absent have no limit. Requests that run no model
 * keep their default rate unless it is set.
 */
const Rates = z.union([z.enum(["product", "none"]), z.partialRecord(z.enum(RATE_TITLES), count)], {
	error: ({ input }) =>
		`expected "product", "none" or requests a minute by the name of a task, found ${kindOf(input)}`,
});

const AccountEntry = z.strictObject({
	plan: z.enum(["free", "paid"]).optional(),
	daily_neurons: neurons.optional(),
	monthly_neurons: neurons.optional(),
	requests_per_minute: Rates.optional(),
	models: z.record(ModelId, ModelEntry).optional(),
});
type AccountEntry = z.output<typeof AccountEntry>;

export const LimitsSchema = AccountEntry.extend({
	json_bytes: count.default(DEFAULT_JSON_BYTES),
	upload_bytes: count.default(DEFAULT_UPLOAD_BYTES),
	json_depth: count.default(DEFAULT_JSON_DEPTH),
	body_ms: count.max(MAX_TIMER_MS).default(DEFAULT_BODY_MS),
	/**
	 * Milliseconds after which a request that was not settled, because its Worker crashed, is charged its reservation. The calls
	 * of engines end before it.
	 */
	hold_ms: count.max(MAX_TIMER_MS).default(DEFAULT_HOLD_MS),
	/** The cached answers of each gateway. */
	cache_bytes: count.default(DEFAULT_CACHE_BYTES),
	/** Parts of the disk, unless they are set (`capacity.ts`). */
	log_bytes: keptBytes.default(KEPT_BYTES.log_bytes),
	account_log_bytes: keptBytes.default(KEPT_BYTES.account_log_bytes),
	account_cache_bytes: keptBytes.default(KEPT_BYTES.account_cache_bytes),
	run_bytes: keptBytes.default(KEPT_BYTES.run_bytes),
	disk_reserve_bytes: wholeCount.default(KEPT_BYTES.disk_reserve_bytes),
	/** Larger answers are not cached. */
	cache_entry_bytes: count.max(MAX_CACHE_ENTRY_BYTES).default(DEFAULT_CACHE_ENTRY_BYTES),
	accounts: z.record(z.string(), AccountEntry).optional(),
}).transform((set): KeepingLimits => {
	const { accounts = {}, plan, daily_neurons, monthly_neurons, requests_per_minute, models, ...bounds } = set;
	const everyone = present({ plan, daily_neurons, monthly_neurons, requests_per_minute, models });
	const table = Object.entries(accounts).map(
		([account, own]) => [account, accountLimits(ownEntry(everyone, own))] as const,
	);
	return {
		...camelCased(bounds),
		everyone: accountLimits(everyone),
		accounts: new Map(table),
	};
});

/** An account on the free plan has that plan's neurons, whatever the default for all accounts is. */
function ownEntry(everyone: AccountEntry, own: AccountEntry): AccountEntry {
	const entry = { ...everyone, ...own, models: { ...everyone.models, ...own.models } };
	if (own.plan !== "free" || own.daily_neurons !== undefined) return entry;
	return { ...entry, daily_neurons: Math.min(everyone.daily_neurons ?? Infinity, FREE_DAILY_NEURONS) };
}

function accountLimits({
	plan = "paid",
	daily_neurons,
	monthly_neurons,
	requests_per_minute = "product",
	models,
}: AccountEntry): AccountLimits {
	const dailyNeurons = daily_neurons ?? (plan === "free" ? FREE_DAILY_NEURONS : undefined);
	return {
		plan,
		...present({ dailyNeurons, monthlyNeurons: monthly_neurons }),
		requestsPerMinute: rates(requests_per_minute),
		productRates: requests_per_minute === "product",
		models: new Map(Object.entries(models ?? {}).map(([id, entry]) => [id, camelCased(entry)])),
	};
}

function rates(chosen: z.output<typeof Rates>): Partial<Record<TaskTitle, number>> {
	if (chosen === "none") return {};
	return { ...COUNTED_RATES, ...(chosen === "product" ? TASK_RATES : chosen) };
}
