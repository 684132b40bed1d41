/** What the room needs, in addition to the pipeline's services. */
import { BoundedMap } from "../../../src/core/bounded-map.ts";
import type { PipelineServices } from "../../../src/pipeline/services.ts";

const MAX_ACCOUNTS = 1_000;

/** The last opinions of each account, in this isolate. At the bound all are dropped. */
export class LastOpinions {
	readonly #opinions = new BoundedMap<string, readonly unknown[]>(MAX_ACCOUNTS);

	of(account: string): readonly unknown[] {
		return this.#opinions.get(account) ?? [];
	}

	replace(account: string, opinions: readonly unknown[]): void {
		this.#opinions.set(account, opinions);
	}
}

export interface OpinionServices extends PipelineServices {
	lastOpinions: LastOpinions;
}
