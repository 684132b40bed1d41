/** The queue's side of a run, which the entrypoint `Work` calls. */
import { RpcTarget } from "cloudflare:workers";
import type { RunControl } from "./run-work.ts";

export class WorkControl extends RpcTarget implements RunControl {
	readonly #cancelled: Promise<boolean>;
	readonly #onProgress: (value: string) => void;

	constructor(cancelled: Promise<boolean>, onProgress: (value: string) => void) {
		super();
		this.#cancelled = cancelled;
		this.#onProgress = onProgress;
	}

	async progress(value: string): Promise<void> {
		this.#onProgress(value);
	}

	cancelled(): Promise<boolean> {
		return this.#cancelled;
	}
}
