/** The settings of a pool. Types only. */
import type { PolicyName } from "./choice.ts";
import type { DiscoverSettings } from "./discovery.ts";
import type { Priority } from "./fair-queue.ts";
import type { GateSettings } from "./pool-gate.ts";
import type { Disaggregation } from "./prefill-decode/settings.ts";
import type { WakeSettings } from "./wake-calls.ts";

/** `BACKENDS.x.pool` */
export interface PoolSettings {
	policy?: PolicyName;
	/** Prompts of all accounts share the caches of the engines. Default: an account only profits from its own prompts. */
	sharedPrompts?: boolean;
	/** Requests have the field `cache_salt`, which engines share no cache across. */
	cacheSalt?: boolean;
	/** Values of the field `priority` for engines, by the priority of the request. Absent: the field is not sent. */
	priority?: Partial<Record<Priority, number>>;
	/** Absent: the pool accepts all requests at once. */
	gate?: GateSettings;
	/** Milliseconds between two polls of an engine's load. Absent: engines are not polled. */
	pollMs?: number;
	/** A service that lists the replicas. Absent: the configuration has them. */
	discover?: DiscoverSettings;
	/** A service that starts replicas. Absent: a pool without replicas refuses requests. */
	wake?: WakeSettings;
	/** Models are loaded before the hours in which they are usually used. */
	preload?: boolean;
	/** Absent: each replica processes prompts and generates output. */
	disaggregation?: Disaggregation;
}
