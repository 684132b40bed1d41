/**
 * An isolate's client of the `ResponseStore` objects.
 *
 * Each object belongs to one account. What a caller made, it may read, continue and delete. For the objects of another caller of the
 * account it needs the permission to write: without it, they do not exist for it.
 */
import { BoundedMap } from "../../core/bounded-map.ts";
import { hasPassed } from "../../core/elapsed.ts";
import { toAiError } from "../../core/errors.ts";
import { callStorage, requireDiskSpace } from "../../core/object-failure.ts";
import { callPart } from "../../core/object-parts.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { PipelineServices } from "../../pipeline/services.ts";
import type { BackgroundRuns } from "../durable/background-runs.ts";
import type { Conversations } from "../durable/conversations.ts";
import type { ResponseStoreObject } from "../durable/response-store.ts";
import { fullFailure } from "../failures.ts";
import type {
	EventBatch,
	ItemRecord,
	NewBackground,
	ResponseRecord,
	ResponseStoreUsage,
	Saved,
	Scope,
	StartedRun,
	StoreBounds,
	StoreRoom,
} from "../records.ts";

/** How long the room of an account is not read again. The isolate subtracts its own requests, and not those of other isolates. */
const ROOM_MS = 10_000;
const MAX_ACCOUNTS = 1_000;

/** The methods of an object as calls. */
type Calls<Target> = {
	[Name in keyof Target]: Target[Name] extends (...parameters: infer Parameters) => infer Result
		? (...parameters: Parameters) => Promise<Awaited<Result>>
		: never;
};

export type ConversationCalls = Calls<Conversations>;
type RunCalls = Calls<BackgroundRuns>;

type StoreCalls = Calls<
	Pick<
		ResponseStoreObject,
		"context" | "delete" | "export" | "get" | "inputItems" | "room" | "save" | "usage"
	>
> & {
	background(): RunCalls;
	conversations(): ConversationCalls;
};

/** The calls of an account's object. A stub belongs to the request that created it, so each call needs a new one. */
export const storeCalls = (
	namespace: DurableObjectNamespace<ResponseStoreObject>,
	account: string,
): StoreCalls =>
	// The runtime's types of results are too deep for the compiler.
	namespace.getByName(account) as unknown as StoreCalls;

interface StoredResponsesServices {
	object(account: string): StoreCalls;
	bounds: StoreBounds;
	/** Epoch milliseconds. */
	now(): number;
}

export class StoredResponses {
	readonly #services: StoredResponsesServices;
	/** By account. `at`: when it was read. */
	readonly #room = new BoundedMap<string, StoreRoom & { at: number }>(MAX_ACCOUNTS);

	constructor(services: StoredResponsesServices) {
		this.#services = services;
	}

	get bounds(): StoreBounds {
		return this.#services.bounds;
	}

	/** Throws if the account has no room for a response with this input. */
	async requireRoom(account: string, input: readonly ItemRecord[]): Promise<void> {
		requireDiskSpace("responses", '. Send "store": false');
		const bytes = input.reduce((sum, { json }) => sum + Buffer.byteLength(json), 1);
		const now = this.#services.now();
		let room = this.#room.get(account);
		if (!room || hasPassed(ROOM_MS, room.at, now) || room.bytes < bytes || room.responses < 1) {
			const read = await this.call(account, (store) => store.room(this.bounds));
			room = { ...read, at: now };
			this.#room.set(account, room);
		}
		if (room.bytes < bytes) throw fullFailure("bytes", this.bounds);
		if (room.responses < 1) throw fullFailure("responses", this.bounds);
		room.bytes -= bytes;
		room.responses--;
	}

	/** Resolves when the response is durable. A call that fails is made a second time. */
	async save(account: string, record: ResponseRecord): Promise<void> {
		const save = () => this.call(account, (store) => store.save(record, this.bounds));
		this.requireSaved(account, await save().catch(save));
	}

	async enqueue(record: NewBackground): Promise<void> {
		const { account } = record;
		this.requireSaved(account, await this.callRuns(account, (runs) => runs.enqueue(record, this.bounds)));
	}

	/** `undefined`: the response has ended. */
	begin(account: string, id: string, ticket: string): Promise<StartedRun | undefined> {
		return this.callRuns(account, (runs) => runs.begin(id, ticket, this.bounds));
	}

	/** Returns whether the response has not been cancelled or deleted. Throws if the account is full. */
	async append(account: string, id: string, added: { ticket: string; batch: EventBatch }): Promise<boolean> {
		const saved = await this.callRuns(account, (runs) => runs.append(id, added, this.bounds));
		this.requireSaved(account, saved);
		return saved.ok;
	}

	usage(account: string): Promise<ResponseStoreUsage> {
		return this.call(account, (store) => store.usage());
	}

	/** Throws if the account was full. */
	requireSaved(account: string, saved: Saved): void {
		if (saved.ok || saved.why === "gone") return;
		this.#room.delete(account);
		throw fullFailure(saved.why, this.bounds);
	}

	callConversations<Result>(
		account: string,
		method: (calls: ConversationCalls) => Promise<Result>,
	): Promise<Result> {
		return this.call(account, (store) => callPart(store.conversations(), method));
	}

	callRuns<Result>(account: string, method: (runs: RunCalls) => Promise<Result>): Promise<Result> {
		return this.call(account, (store) => callPart(store.background(), method));
	}

	/** Throws 502 if the object cannot be called, and 429 if the account has too many open objects. */
	call<Result>(account: string, method: (store: StoreCalls) => Promise<Result>): Promise<Result> {
		return callStorage(() => method(this.#services.object(account)), "responseStoreUnavailable");
	}
}

/** What the caller made. The operator's scope is the whole account. */
export function scopeOf({ credential }: Caller): Scope {
	if (credential.kind === "token") return { owner: credential.hash, all: false };
	return credential.unauthenticated ? { owner: "public", all: false } : { owner: "operator", all: true };
}

/** Calls again with the scope of the whole account, if the caller may write. */
export async function inScope<Result extends { ok: true } | { ok: false; missing: { foreign?: true } }>(
	caller: Caller,
	find: (scope: Scope) => Promise<Result>,
	{ ledgers }: Pick<PipelineServices, "ledgers">,
): Promise<Result> {
	const own = scopeOf(caller);
	const found = await find(own);
	if (found.ok || !found.missing.foreign || caller.credential.kind !== "token") return found;
	try {
		await ledgers.of(caller.account).verify(caller.credential, "write");
	} catch (thrown) {
		const error = toAiError(thrown);
		if (error.key !== "forbidden") throw error;
		return found;
	}
	return find({ ...own, all: true });
}
