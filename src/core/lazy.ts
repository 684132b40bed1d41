/** Values and modules that are made or loaded at their first use. */

/**
 * Returns a function whose first call makes the value, and whose other calls return it. For schemas that few requests need: zod
 * takes about 13 us for each, and a start with all of them would make 2,000.
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
