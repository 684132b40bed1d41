/** The jobs of an instance over RPC. */
import { RpcTarget } from "cloudflare:workers";
import { parseFields } from "../../http/account-request.ts";
import { type BoundInstance, withInstance } from "./bound-instance.ts";
import { PageListing } from "./item-lists.ts";
import { cancelJob, jobLogs, listJobs, NewJob, requireJob, startJob } from "./job-operations.ts";
import { jobJson, jobLogJson, pageJson } from "./json.ts";

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
