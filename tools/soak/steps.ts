/**
 * The progress of the callers, for an engine that stays in step with a caller or waits until it disconnects. Exact, because both run in
 * one process.
 */
interface Progress {
	events: number;
	gone: boolean;
	wake: Set<() => void>;
}

export class Steps {
	readonly #callers = new Map<number, Progress>();

	/** A caller has received this number of events. */
	got(index: number, events: number): void {
		const caller = this.#of(index);
		caller.events = Math.max(caller.events, events);
		for (const wake of caller.wake) wake();
	}

	leave(index: number): void {
		const caller = this.#of(index);
		caller.gone = true;
		for (const wake of caller.wake) wake();
	}

	isGone(index: number): boolean {
		return this.#of(index).gone;
	}

	/** Resolves when the caller has this number of events, has disconnected, or `signal` fires. */
	async reached(index: number, events: number, signal: AbortSignal): Promise<void> {
		const caller = this.#of(index);
		while (caller.events < events && !caller.gone && !signal.aborted)
			await new Promise<void>((resolve) => {
				const wake = () => {
					caller.wake.delete(wake);
					signal.removeEventListener("abort", wake);
					resolve();
				};
				caller.wake.add(wake);
				signal.addEventListener("abort", wake, { once: true });
			});
	}

	#of(index: number): Progress {
		let caller = this.#callers.get(index);
		if (!caller) {
			caller = { events: 0, gone: false, wake: new Set() };
			this.#callers.set(index, caller);
		}
		return caller;
	}
}
