import { type DependencyList, useCallback, useEffect, useRef, useState } from "react";
import { ApiError } from "./client.ts";

/** Time between attempts to reach a gateway that does not answer. */
const RETRY_MS = 5_000;

/** A load that takes longer fails, because a lost connection may never end. */
const MAX_LOAD_MS = 30_000;

export interface Loaded<T> {
	state: "loading" | "failed" | "ready";
	/** While it loads, and after a failure to load it again: the value before. */
	value?: T;
	/** Of the last attempt that ended. */
	error?: Error;
	reload?: () => void;
}

/**
 * Loads a value when the dependencies change; `reload` loads it again and keeps the old value until then. While the gateway
 * cannot be reached or does not answer in time, it tries again by itself.
 */
export function useLoad<T>(
	load: (signal: AbortSignal) => Promise<T>,
	dependencies: DependencyList,
): Loaded<T> & { reload: () => void } {
	const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading" });
	const [attempt, setAttempt] = useState(0);
	const lastAttempt = useRef(attempt);
	const reload = useCallback(() => setAttempt((count) => count + 1), []);
	// biome-ignore lint/correctness/useExhaustiveDependencies: the caller names what the loader depends on.
	useEffect(() => {
		const abort = new AbortController();
		// Of other dependencies, the value before is shown while it loads, but not beside an error.
		const isReload = lastAttempt.current !== attempt;
		lastAttempt.current = attempt;
		setLoaded(({ value, error }) => loadedOf("loading", value, isReload ? error : undefined));
		const end = (next: (value: T | undefined) => Loaded<T>): void => {
			if (abort.signal.aborted) return;
			setLoaded(({ value }) => next(value));
			stop();
		};
		const fail = (error: Error): void =>
			end((value) => loadedOf("failed", isReload ? value : undefined, error));
		const timer = setTimeout(() => fail(new ApiError(0, TOO_LATE)), MAX_LOAD_MS);
		const stop = (): void => {
			clearTimeout(timer);
			abort.abort();
		};
		load(abort.signal).then((value) => end(() => ({ state: "ready", value })), fail);
		return stop;
	}, [...dependencies, attempt]);
	const isUnreachable =
		loaded.state === "failed" && loaded.error instanceof ApiError && loaded.error.status === 0;
	useEffect(() => {
		if (!isUnreachable) return;
		const timer = setInterval(() => {
			if (!document.hidden) reload();
		}, RETRY_MS);
		addEventListener("online", reload);
		return () => {
			clearInterval(timer);
			removeEventListener("online", reload);
		};
	}, [isUnreachable, reload]);
	return { ...loaded, reload };
}

const TOO_LATE = `The gateway has not answered within ${MAX_LOAD_MS / 1_000} seconds`;

const loadedOf = <T>(
	state: Loaded<T>["state"],
	value: T | undefined,
	error: Error | undefined,
): Loaded<T> => ({
	state,
	...(value !== undefined && { value }),
	...(error && { error }),
});
