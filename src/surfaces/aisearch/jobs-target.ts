/** The jobs of an instance over RPC. */
import { RpcTarget } from "cloudflare:workers";
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { parseFields } from "../../http/account-request.ts";
import type { Page } from "../../retrieval/search/records.ts";
import { type BoundInstance, withInstance } from "./bound-instance.ts";
import { PageListing } from "./item-lists.ts";
import { cancelJob, jobLogs, listJobs, requireJob, startJob } from "./job-operations.ts";
import { jobJson, jobLogJson, pageInfo } from "./json.ts";

const NewJob = lazy(() => z.object({ description: z.string().max(255).optional() }));

const pageJson = <Value>(
	{ total, values }: Page<Value>,
	{ page, per_page: perPage }: { page: number; per_page: number },
	json: (value: Value) => object,
): object => ({
	result: values.map(json),
	result_info: pageInfo({ page, perPage, total, shown: values.length }),
});

export class JobsTarget extends RpcTarget {
	readonly #bound: BoundInstance;

	constructor(bound: BoundInstance) {
		super();
		this.#bound = bound;
	}

	list(params: unknown = {}): Promise<object> {
		return withInstance(this.#bound, async (call) => {
			const range = parseFields(PageListing(), params ?? {}, "query");
			return pageJson(await listJobs(range, call), range, jobJson);
		});
	}

	create(params: unknown = {}): Promise<object> {
		return withInstance(this.#bound, async (call) => {
			const { description } = parseFields(NewJob(), params ?? {}, "body");
			return jobJson(await startJob(description, call));
		});
	}

	get(id: string): JobTarget {
		return new JobTarget(id, this.#bound);
	}
}

class JobTarget extends RpcTarget {
	readonly #id: string;
	readonly #bound: BoundInstance;

	constructor(id: string, bound: BoundInstance) {
		super();
		this.#id = String(id);
		this.#bound = bound;
	}

	info(): Promise<object> {
		return withInstance(this.#bound, async (call) => jobJson(await requireJob(this.#id, call)));
	}

	cancel(): Promise<object> {
		return withInstance(this.#bound, async (call) => jobJson(await cancelJob(this.#id, call)));
	}

	logs(params: unknown = {}): Promise<object> {
		return withInstance(this.#bound, async (call) => {
			const range = parseFields(PageListing(), params ?? {}, "query");
			return pageJson(await jobLogs(this.#id, range, call), range, jobLogJson);
		});
	}
}
