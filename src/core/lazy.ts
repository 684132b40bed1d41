/** Values that are created, and modules that are loaded, at their first use. */

/**
 * Returns a function whose first call creates the value. Later calls return the same value. Use it for schemas that few requests need:
 * zod takes about 13 us for each, and without `lazy` a start would create 2,000.
 */
export function lazy<T>(make: () => T): () => T {
	let made: T | undefined;
	return () => {
		made ??= make();
		return made;
	};
}

/**
 * Returns the module, and the promise of it only until it is loaded, because each `import()` of a loaded module costs time. Concurrent
 * requests import it separately: a request that is cancelled does not affect the others.
 */
export function onFirstUse<Module>(load: () => Promise<Module>): () => Module | Promise<Module> {
	let loaded: Module | undefined;
	return () =>
		loaded ??
		load().then((module) => {
			loaded = module;
			return module;
		});
}
