/** The messages between the isolates and the `ResponseStore` object. Plain data, because they cross RPC. Types only. */

/** Whose objects a call may see. `all`: every object of the account. */
export interface Scope {
	/** The SHA-256 of the token that made an object, `operator`, or `public` for callers without a credential. */
	owner: string;
	all: boolean;
}

/** `queued` and `in_progress` only for responses in the background. */
export type ResponseStatus = "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";

/** The bounds of an account, and how long its responses are kept. From `LIMITS`. */
export interface StoreBounds {
	maxBytes: number;
	maxResponses: number;
	retentionMs: number;
}

/** What an account can store further: bytes, and responses with conversations. */
export interface StoreRoom {
	bytes: number;
	responses: number;
}

/** An item as JSON. `id`: of the item. */
export interface ItemRecord {
	id: string;
	json: string;
	/** Set if the record stands for another item with this id (an `item_reference`): the owner of that item. Tokens may choose equal ids. */
	referencedOwner?: string;
}

/** A response that has ended. `json`: the response object without its output. */
export interface ResponseRecord {
	id: string;
	owner: string;
	status: ResponseStatus;
	previous?: string | undefined;
	conversation?: string | undefined;
	/** Epoch milliseconds. */
	createdAt: number;
	json: string;
	input: readonly ItemRecord[];
	output: readonly ItemRecord[];
}

/** What a request refers to. */
export interface ContextQuery {
	previous?: string | undefined;
	conversation?: string | undefined;
	/** Ids of items. */
	items: readonly string[];
	/** Ids of items that may be absent. */
	optional?: readonly string[];
}

/** `foreign`: the object exists, and the scope does not include it. */
export interface Missing {
	kind: "response" | "conversation" | "item";
	id: string;
	foreign?: true;
	/** The response exists and has not ended. */
	pending?: true;
	/** The items before the request, or those that a page of a list would have, are too large to be read. */
	tooLarge?: true;
}

export type Found<Value> = { ok: true; value: Value } | { ok: false; missing: Missing };

/** `json`: the item. */
export interface OwnedItem {
	json: string;
	owner: string;
}

export interface ReferencedItems {
	/** The items before the request's own input, oldest first, as JSON. */
	before: string[];
	/** The referenced items, by id. Callers choose ids, so an object would have its inherited names among them. */
	items: Map<string, OwnedItem>;
}

/** Why the account can store nothing further. */
export type Fullness = "bytes" | "responses";

export type Saved = { ok: true } | { ok: false; why: Fullness | "gone" };

export interface StoredResponse {
	id: string;
	owner: string;
	status: ResponseStatus;
	createdAt: number;
	json: string;
	/** As JSON. */
	output: string[];
}

export interface ItemsQuery {
	/** 1 to 100. */
	limit: number;
	/** The id of the last item of the page before. */
	after?: string | undefined;
	order: "asc" | "desc";
}

export interface ItemsPage {
	/** As JSON. */
	items: string[];
	hasMore: boolean;
}

export interface ConversationRecord {
	id: string;
	/** Epoch milliseconds. */
	createdAt: number;
	/** As JSON. */
	metadata: string;
}

export interface ResponseStoreUsage {
	bytes: number;
	responses: number;
	conversations: number;
	items: number;
}

/** A run in the background that has not ended. `request`: JSON of `BackgroundRequest`. */
export interface BackgroundRecord {
	request: string;
	/** Runs that were started. */
	attempts: number;
	/** The request id of the last run. */
	ticket?: string;
}

/** Complete server-sent events. `first`, `last`: their sequence numbers. */
export interface EventBatch {
	first: number;
	last: number;
	content: Uint8Array;
}

/** A response in the background, when it is created. */
export interface NewBackground extends Omit<ResponseRecord, "status" | "output"> {
	account: string;
	request: string;
	isStream: boolean;
}

/** The start of a run in the background. */
export interface StartedRun {
	request: string;
	/** Counted from 1. */
	attempt: number;
	owner: string;
	createdAt: number;
	/** The request id of the run before, which did not end. */
	interrupted?: string;
	/** The sequence number of its first event. */
	firstSequence: number;
	/** The response object as JSON, without its output. */
	json: string;
	/** The items before its own input, and those of its own input, as JSON. */
	before: Found<string[]>;
	own: Found<string[]>;
}
