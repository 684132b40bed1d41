/**
 * Promises that one request awaits and another one settles.
 *
 * The runtime continues what awaits a promise in the context of the request that created the promise. It knows that context by a mark on the
 * promise. Code that V8 has optimized creates some promises without the mark: those of `new Promise`, of async functions, and of `then`,
 * `catch` and `finally`. What awaits one of these goes on in the context of the request that settles it. A call that begins there never
 * answers when that context ends, and the runtime cancels the awaiting request as hung (workerd 1.20261102). V8 optimizes code that runs
 * often, so the fault shows only under load. `Promise.withResolvers` always sets the mark.
 */

/** A promise of the current request. Any request may settle it; what awaits it goes on in the context of the current request. */
export const settledElsewhere = <T>(): PromiseWithResolvers<T> => Promise.withResolvers<T>();

/** A promise of the current request that settles as `work` does. Any request may await it, and goes on in its own context. */
export function awaitedElsewhere<T>(work: Promise<T>): Promise<T> {
	const { promise, resolve, reject } = settledElsewhere<T>();
	work.then(resolve, reject);
	return promise;
}
