/** An AI Search instance over RPC: the methods of the product's `AiSearchInstance` (workerd, `types/defines/ai-search.d.ts`). */
import { RpcTarget } from "cloudflare:workers";
import { parseFields } from "../../http/account-request.ts";
import { ConfigChanges } from "../../retrieval/search/read-config.ts";
import { type BoundInstance, withInstance, workWithInstance } from "./bound-instance.ts";
import { changeInstance, instanceInfo, instanceStats } from "./instance-operations.ts";
import { ItemsTarget } from "./items-target.ts";
import { JobsTarget } from "./jobs-target.ts";
import { chat, search } from "./search-operations.ts";

/** The object for a complete answer, the stream of a streamed one. */
export const answerOf = (response: Response, isStream: boolean): Promise<unknown> =>
	isStream ? Promise.resolve(response.body) : response.json();

export const isStreamed = (request: unknown): boolean =>
	typeof request === "object" && request !== null && Reflect.get(request, "stream") === true;

export class InstanceTarget extends RpcTarget {
	readonly #bound: BoundInstance;

	constructor(bound: BoundInstance) {
		super();
		this.#bound = bound;
	}

	search(request: unknown): Promise<object> {
		return workWithInstance(this.#bound, async (call) => (await search(request, call)).result);
	}

	chatCompletions(request: unknown): Promise<unknown> {
		return workWithInstance(this.#bound, async (call) =>
			answerOf(await chat(request, call), isStreamed(request)),
		);
	}

	info(): Promise<object> {
		return withInstance(this.#bound, (call) => instanceInfo(call));
	}

	stats(): Promise<object> {
		return withInstance(this.#bound, instanceStats);
	}

	update(changes: unknown): Promise<object> {
		return withInstance(this.#bound, async (call) => {
			const fields = parseFields(ConfigChanges(), changes, "body");
			return instanceInfo(call, await changeInstance(fields, call));
		});
	}

	get items(): ItemsTarget {
		return new ItemsTarget(this.#bound);
	}

	get jobs(): JobsTarget {
		return new JobsTarget(this.#bound);
	}

	/** For hosts that return no properties of remote objects, such as `getPlatformProxy()`. */
	part(name: "items" | "jobs"): ItemsTarget | JobsTarget {
		return name === "items" ? this.items : this.jobs;
	}
}
