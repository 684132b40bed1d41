/**
 * An isolate's client of the `JobStore` objects. Each object belongs to one account. What a caller made, it may read, use and delete. For
 * the objects of another caller of the account it needs the permission to write: without it, they do not exist for it.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { quotedName } from "../../core/not-found.ts";
import { callStorage } from "../../core/object-failure.ts";
import { callPart } from "../../core/object-parts.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { PipelineServices } from "../../pipeline/services.ts";
import { scopeOf } from "../../responses/client/stored-responses.ts";
import type { Scope } from "../../responses/records.ts";
import type { BatchApi } from "../batches/records.ts";
import type { BatchRuns } from "../durable/batch-runs.ts";
import type { JobStoreObject } from "../durable/job-store.ts";
import type { StoredAdapters } from "../durable/stored-adapters.ts";
import type { StoredBatches } from "../durable/stored-batches.ts";
import type { StoredFiles } from "../durable/stored-files.ts";
import type { FoundJob, JobBounds, JobUsage } from "../records.ts";

/** The methods of an object as calls. */
type Calls<Target> = {
	[Name in keyof Target]: Target[Name] extends (...parameters: infer Parameters) => infer Result
		? (...parameters: Parameters) => Promise<Awaited<Result>>
		: never;
};

type AdapterCalls = Calls<StoredAdapters>;
type FileCalls = Calls<StoredFiles>;
type BatchCalls = Calls<StoredBatches>;
type RunCalls = Calls<BatchRuns>;

interface JobCalls {
	adapters(): AdapterCalls;
	files(): FileCalls;
	batches(): BatchCalls;
	runs(): RunCalls;
	usage(): Promise<JobUsage>;
}

/** The calls of an account's object. A stub belongs to the request that created it, so each call needs a new one. */
export const jobCalls = (namespace: DurableObjectNamespace<JobStoreObject>, account: string): JobCalls =>
	// The runtime's types of results are too deep for the compiler.
	namespace.getByName(account) as unknown as JobCalls;

interface JobsClientServices {
	object(account: string): JobCalls;
	bounds: JobBounds;
}

export class Jobs {
	readonly #services: JobsClientServices;

	constructor(services: JobsClientServices) {
		this.#services = services;
	}

	get bounds(): JobBounds {
		return this.#services.bounds;
	}

	adapters<Result>(account: string, method: (adapters: AdapterCalls) => Promise<Result>): Promise<Result> {
		return this.#call(account, (store) => callPart(store.adapters(), method));
	}

	files<Result>(account: string, method: (files: FileCalls) => Promise<Result>): Promise<Result> {
		return this.#call(account, (store) => callPart(store.files(), method));
	}

	batches<Result>(account: string, method: (batches: BatchCalls) => Promise<Result>): Promise<Result> {
		return this.#call(account, (store) => callPart(store.batches(), method));
	}

	runs<Result>(account: string, method: (runs: RunCalls) => Promise<Result>): Promise<Result> {
		return this.#call(account, (store) => callPart(store.runs(), method));
	}

	usage(account: string): Promise<JobUsage> {
		return this.#call(account, (store) => store.usage());
	}

	/** Throws 502 if the object cannot be called, and 429 if the account has too many open objects. */
	#call<Result>(account: string, method: (store: JobCalls) => Promise<Result>): Promise<Result> {
		return callStorage(() => method(this.#services.object(account)));
	}
}

/** What a list shows: all of the account to a caller who may write, to others what they made. */
export async function listScope(
	caller: Caller,
	{ ledgers }: Pick<PipelineServices, "ledgers">,
): Promise<Scope> {
	const own = scopeOf(caller);
	if (own.all || caller.credential.kind !== "token") return own;
	try {
		await ledgers.of(caller.account).verify(caller.credential, "write");
		return { ...own, all: true };
	} catch (thrown) {
		const error = toAiError(thrown);
		if (error.key !== "forbidden") throw error;
		return own;
	}
}

export const noSuchBatch = (id: string, api?: BatchApi): AiError =>
	new AiError("noSuchBatch", `No such ${api === "replay" ? "Replay" : "Batch"} object: ${id}`);

/** The page, or the failure of a route: the list has nothing with the id of the query. */
export function foundPage<Page>(
	page: Page | undefined,
	kind: "file" | "batch",
	{ after, before = "" }: { after?: string | undefined; before?: string | undefined },
): Page {
	if (page) return page;
	const message = `The list cannot be continued: it has no ${kind} ${quotedName(after ?? before)}`;
	// Always `after`: only OpenAI's failures show the field, and OpenAI's lists have no `before`.
	throw new AiError("invalidRequest", message, { field: "after" });
}

/** The value, or the failure of a route. `api`: that of a batch. `field`: of the body that has the id. Absent: the path has it. */
export function foundJob<Value>(
	found: FoundJob<Value>,
	{ api, field }: { api?: BatchApi; field?: string } = {},
): Value {
	if (found.ok) return found.value;
	const { kind, id } = found.missing;
	if (kind === "batch") throw noSuchBatch(id, api);
	throw new AiError("noSuchFile", `No such File object: ${id}`, { field });
}
