/** The queue, for the rooms: calls of the `WorkQueue` object. */
import type { DeletedAccounts } from "../../core/deleted-accounts.ts";
import { AiError } from "../../core/errors.ts";
import { callStorage, requireDiskSpace } from "../../core/object-failure.ts";
import type { RemoteCalls } from "../remote-calls.ts";
import type { NewWork, Queue, WorkId, WorkPage, WorkQuery, WorkState, WorkStatus } from "./work.ts";
import type { WorkQueueObject } from "./work-queue.ts";
import type { LaneCount } from "./work-table.ts";

const MAX_PAYLOAD_BYTES = 8 * 1024;
const MAX_WORK_KEY_CHARACTERS = 256;
/** Items of one call. */
const ADDED_AT_ONCE = 1_000;
/** Items of a full queue end at any time. */
const FULL_SECONDS = 60;
const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;

/** A stub belongs to the request that created it, so each call creates its own. */
type QueueObject = () => RemoteCalls<WorkQueueObject>;

export class QueueClient implements Queue {
	readonly #object: QueueObject;

	readonly #deletedAccounts: Pick<DeletedAccounts, "check"> | undefined;

	/** `deletedAccounts`: they get no new items. Absent: none is deleted. */
	constructor(object: QueueObject, deletedAccounts?: Pick<DeletedAccounts, "check">) {
		this.#object = object;
		this.#deletedAccounts = deletedAccounts;
	}

	async enqueue(items: NewWork | readonly NewWork[], options?: { freesSpace: boolean }): Promise<number> {
		const all = Array.isArray(items) ? (items as readonly NewWork[]) : [items as NewWork];
		for (const item of all) check(item);
		if (all.length > ADDED_AT_ONCE)
			throw new AiError("invalidRequest", `at most ${ADDED_AT_ONCE} items in one call`);
		if (all.length === 0) return 0;
		for (const account of new Set(all.map((item) => item.account)))
			await this.#deletedAccounts?.check(account);
		if (!options?.freesSpace) requireDiskSpace("items of work");
		const result = await this.#call((stub) => stub.enqueue(all));
		if (!result.ok) throw new AiError(result.failure, result.description, { retryAfter: FULL_SECONDS });
		return result.added;
	}

	cancel(id: WorkId): Promise<WorkState | undefined> {
		return this.#call((stub) => stub.cancel(idOf(id)));
	}

	async cancelPrefix(range: { account: string; kind: string; prefix: string }): Promise<number> {
		return this.#call((stub) => stub.cancelPrefix(range));
	}

	status(id: WorkId): Promise<WorkStatus | undefined> {
		return this.#call((stub) => stub.status(idOf(id)));
	}

	list(query: WorkQuery): Promise<WorkPage> {
		const limit = Math.min(Math.max(1, Math.floor(query.limit ?? DEFAULT_PAGE)), MAX_PAGE);
		return this.#call((stub) => stub.list({ ...query, limit }));
	}

	revive(id: WorkId): Promise<boolean> {
		return this.#call((stub) => stub.revive(idOf(id)));
	}

	counts(): Promise<LaneCount[]> {
		return this.#call((stub) => stub.counts());
	}

	#call<T>(method: (stub: RemoteCalls<WorkQueueObject>) => Promise<T>): Promise<T> {
		return callStorage(() => method(this.#object()));
	}
}

/** Without other members. */
const idOf = ({ account, kind, key }: WorkId): WorkId => ({ account, kind, key });

function check({ account, kind, key, payload }: NewWork): void {
	for (const text of [account, kind, key])
		if (text === "" || text.length > MAX_WORK_KEY_CHARACTERS)
			throw new AiError("invalidRequest", `names of work have 1 to ${MAX_WORK_KEY_CHARACTERS} characters`);
	const bytes = new TextEncoder().encode(JSON.stringify(payload) ?? "").length;
	if (bytes > MAX_PAYLOAD_BYTES)
		throw new AiError("invalidRequest", `the payload of work has at most ${MAX_PAYLOAD_BYTES} bytes`);
}
