/** The `Gateway` object: the logs and the limits of one gateway. */
import { DurableObject } from "cloudflare:workers";
import { type Window, Windows } from "./windows.ts";

export interface LimitedWindow extends Window {
	limit: number;
	/** `count`: requests, counted when they are admitted. `cost`: US dollars, added when they end. */
	unit: "count" | "cost";
}

export class Gateway extends DurableObject {
	readonly #windows: Windows;

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#windows = new Windows(ctx.storage.sql);
	}

	/** Counts a request in every window, unless one of them is full. Returns the index of the first full one. */
	take(windows: readonly LimitedWindow[], now: number): number | undefined {
		const full = windows.findIndex((window) => {
			const amount = this.#windows.amount(window, now);
			return window.unit === "count" ? amount + 1 > window.limit : amount >= window.limit;
		});
		if (full >= 0) return full;
		for (const window of windows) if (window.unit === "count") this.#windows.add(window, 1, now);
		return undefined;
	}

	/** Adds a cost in US dollars. */
	spend(windows: readonly Window[], cost: number, now: number): void {
		for (const window of windows) this.#windows.add(window, cost, now);
	}
}
