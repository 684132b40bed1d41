/** Parts of the console whose scripts are loaded when they are first shown. */
import { type ComponentType, type LazyExoticComponent, lazy, useSyncExternalStore } from "react";

/** The script of a part cannot be loaded. */
export class LoadError extends Error {
	constructor(cause: unknown) {
		super(
			"This part of the console could not be loaded. The gateway does not answer, or it has a newer console now. Reload the page.",
			{ cause },
		);
	}
}

let underWay = 0;
const listeners = new Set<() => void>();

function count(change: number): void {
	underWay += change;
	for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
	listeners.add(listener);
	return () => listeners.delete(listener);
}

/**
 * `React.lazy` that reports its progress to {@link useLoadingPage}. The router shows another page in a transition, which keeps
 * the old page without a sign. A Suspense boundary would stay for 300 ms after the script is there.
 */
export const lazyPage = (
	load: () => Promise<{ default: ComponentType }>,
): LazyExoticComponent<ComponentType> =>
	lazy(async () => {
		count(1);
		try {
			return await load();
		} catch (error) {
			throw new LoadError(error);
		} finally {
			count(-1);
		}
	});

/** Whether the script of a page is being loaded. */
export const useLoadingPage = (): boolean => useSyncExternalStore(subscribe, () => underWay > 0);
