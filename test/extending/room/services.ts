/** What the room needs, in addition to the pipeline's services. */
import type { PipelineServices } from "../../../src/pipeline/services.ts";

const MAX_ACCOUNTS = 1_000;

/** The last opinions of each account, in this isolate. At the bound the account that asked first is dropped. */
export class LastOpinions {
	readonly #opinions = new Map<string, readonly unknown[]>();

	of(account: string): readonly unknown[] {
		return this.#opinions.get(account) ?? [];
	}

	replace(account: string, opinions: readonly unknown[]): void {
		this.#opinions.delete(account);
		this.#opinions.set(account, opinions);
		const [oldest] = this.#opinions.keys();
		if (this.#opinions.size > MAX_ACCOUNTS && oldest !== undefined) this.#opinions.delete(oldest);
	}
}

export interface OpinionServices extends PipelineServices {
	lastOpinions: LastOpinions;
}
