/**
 * Collections of garbage that the Worker asks for. V8 collects when its heap has grown to several times what is alive, so large bodies that
 * were released would take hundreds of megabytes, and an idle process would keep them. Only a runtime with `--expose-gc`, as that of
 * `ganglion serve`, collects; elsewhere the functions do nothing.
 */

/** Released bytes of large bodies after which garbage is collected. */
const COLLECTED_BYTES = 64 * 1024 * 1024;

/** Of the allocator of workerd (tcmalloc). */
const LARGE_PAGE_BYTES = 2 * 1024 * 1024;

interface CollectingRuntime {
	gc?(options: { type: "major"; execution: "sync"; flavor?: "last-resort" }): void;
}

let released = 0;

/** Bytes of a large body are garbage now. */
export function addGarbage(bytes: number): void {
	released += bytes;
	if (released < COLLECTED_BYTES) return;
	released = 0;
	(globalThis as CollectingRuntime).gc?.({ type: "major", execution: "sync" });
}

/** Of an idle process: it takes longer, and returns the memory to the system. Each call returns a part. */
export function collectAllGarbage(): void {
	released = 0;
	const { gc } = globalThis as CollectingRuntime;
	if (!gc) return;
	gc({ type: "major", execution: "sync", flavor: "last-resort" });
	// The allocator keeps free pages for the next load. It returns a half of those when it gets a large page after some seconds.
	new ArrayBuffer(LARGE_PAGE_BYTES).transfer(0);
}
