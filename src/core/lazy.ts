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
