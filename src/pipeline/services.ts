/** The parsed configuration and the runtime, as the pipeline receives them. Types only. */
import type { Accounts } from "../accounts/client/accounts.ts";
import type { KnownAccounts } from "../accounts/client/known-accounts.ts";
import type { World } from "../backends/backend.ts";
import type { AiError } from "../core/errors.ts";
import type { Health } from "../fleet/health.ts";
import type { Catalog } from "../models/catalog.ts";
import type { TaskAnswer } from "../tasks/task.ts";
import type { SingleFlight } from "./dispatch/single-flight.ts";
import type { Limits } from "./limits.ts";
import type { Routing } from "./plan.ts";
import type { Served } from "./request.ts";

/** What the pipeline is given: configuration parsed once, and the world it runs in. */
export interface Services extends World {
	catalog: Catalog;
	/** Of the configuration. Accounts may set others: src/pipeline/aliases.ts. */
	aliases: Aliases;
	routing: Routing;
	limits: Limits;
	/** `PUBLIC_URL`: the origin where callers reach this gateway. */
	publicUrl?: string;
	/** What is known of the engines: which are left alone for a while. */
	health: Health;
	/** Identical requests under way, by a hash of what they ask. */
	flights: SingleFlight<{ answer: TaskAnswer; served: Served }>;
	/** 0 to 1. */
	random(): number;
	/** Tells the operator of a failure, without a word of what was asked. */
	log(error: AiError, requestId: string): void;
	ledgers: Accounts;
	/** Which accounts exist. */
	directory: Pick<KnownAccounts, "list">;
	/** A point for every request that ends: the binding `ANALYTICS`, where there is one. */
	analytics?: Pick<AnalyticsEngineDataset, "writeDataPoint">;
	/** Resolves after so many milliseconds; rejects with the signal's reason when it fires first. */
	wait(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** Names for models, each with the id of its model. */
export interface Aliases {
	everyone: ReadonlyMap<string, string>;
	/** By account; these come first. */
	accounts: ReadonlyMap<string, ReadonlyMap<string, string>>;
}
