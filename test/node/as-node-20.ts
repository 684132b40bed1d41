/** The functions of Node 24 that Node 20 lacks: the difference of their globals. */
const NEWER_THAN_20 = [
	...["Array.fromAsync", "Object.groupBy", "Map.groupBy", "Promise.try", "Promise.withResolvers"],
	...["RegExp.escape", "Error.isError", "JSON.rawJSON", "JSON.isRawJSON", "Math.f16round", "Iterator.from"],
	...["transfer", "transferToFixedLength"].map((name) => `ArrayBuffer.prototype.${name}`),
	...[
		"drop",
		"every",
		"filter",
		"find",
		"flatMap",
		"forEach",
		"map",
		"reduce",
		"some",
		"take",
		"toArray",
	].map((name) => `Iterator.prototype.${name}`),
	...["union", "intersection", "difference", "symmetricDifference"].map((name) => `Set.prototype.${name}`),
	...["isSubsetOf", "isSupersetOf", "isDisjointFrom"].map((name) => `Set.prototype.${name}`),
	...["globalThis.URLPattern", "globalThis.DisposableStack", "globalThis.Float16Array", "Atomics.pause"],
	// Also Node 24 lacks these, and the runtime has them.
	...["Uint8Array.fromBase64", "Uint8Array.fromHex", "Uint8Array.prototype.toBase64", "Math.sumPrecise"],
];

/** A script that makes the process one with the functions of Node 20. */
export const AS_NODE_20 = `for (const name of ${JSON.stringify(NEWER_THAN_20)}) {
	const path = name.split(".");
	const last = path.pop();
	const owner = path.reduce((value, part) => value?.[part], globalThis);
	if (owner) delete owner[last];
}
if (typeof Promise.try === "function" || typeof [].values().map === "function") throw new Error("still there");`;
