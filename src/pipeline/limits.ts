/** Limits of a request and of an account. Types only. */
import type { TaskTitle } from "../models/model.ts";

/** Of one request. */
export interface SizeLimits {
	/** Largest JSON body. */
	jsonBytes: number;
	/** Largest audio, image or form. */
	uploadBytes: number;
	/** Deepest nesting of a JSON body. */
	jsonDepth: number;
	/** Longest time in which a body arrives. */
	bodyMs: number;
}

export interface Limits extends SizeLimits {
	/** Milliseconds after which nobody will settle a request any more, and its reservation becomes its bill. */
	holdMs: number;
	/** Of every account that is not in `accounts`. */
	everyone: AccountLimits;
	accounts: ReadonlyMap<string, AccountLimits>;
}

/** What one account may ask for. */
export interface AccountLimits extends NeuronLimits {
	/** `free`: has no models that need the paid plan. */
	plan: "free" | "paid";
	/** By task; a task that is not here has no limit. */
	requestsPerMinute: Partial<Record<TaskTitle, number>>;
	/** Whether the models that have a rate of their own in the product have it here. */
	productRates: boolean;
	/** By model: instead of the task's rate, and within the account's budget. */
	models: ReadonlyMap<string, ModelLimits>;
}

export interface ModelLimits extends NeuronLimits {
	requestsPerMinute?: number;
}

/** Absent: no limit. */
export interface NeuronLimits {
	/** In a UTC day. */
	dailyNeurons?: number;
	/** In a UTC month. */
	monthlyNeurons?: number;
}
