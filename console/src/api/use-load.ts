import { type DependencyList, useCallback, useEffect, useState } from "react";

export type Loaded<T> =
	| { state: "loading"; value?: T }
	| { state: "failed"; error: Error; reload?: () => void }
	| { state: "ready"; value: T };

/** Loads a value when the dependencies change; `reload` loads it again and keeps the old value until then. */
export function useLoad<T>(
	load: (signal: AbortSignal) => Promise<T>,
	dependencies: DependencyList,
): Loaded<T> & { reload: () => void } {
	const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading" });
	const [attempt, setAttempt] = useState(0);
	// biome-ignore lint/correctness/useExhaustiveDependencies: the caller names what the loader depends on.
	useEffect(() => {
		const abort = new AbortController();
		setLoaded((before) =>
			"value" in before ? { state: "loading", value: before.value } : { state: "loading" },
		);
		load(abort.signal).then(
			(value) => abort.signal.aborted || setLoaded({ state: "ready", value }),
			(error: Error) => abort.signal.aborted || setLoaded({ state: "failed", error }),
		);
		return () => abort.abort();
	}, [...dependencies, attempt]);
	return { ...loaded, reload: useCallback(() => setAttempt((count) => count + 1), []) };
}
