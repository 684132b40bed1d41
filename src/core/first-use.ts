/** Modules that load at their first use. */

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
