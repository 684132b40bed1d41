/** Collects the garbage of this process, and returns its memory to the system. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

let collect: (() => void) | undefined;

/**
 * V8's space for new objects keeps its first size, 1 MB, if this is called at the start. By default it grows to 64 MB under load, and so do the
 * buffers of sockets that nothing needs any more: a collection of new objects frees them.
 */
export const keepNewSpaceSmall = (): void => setFlagsFromString("--semi-space-growth-factor=1");

export function collectGarbage(): void {
	if (!collect) {
		setFlagsFromString("--expose-gc");
		collect = runInNewContext("gc") as () => void;
	}
	collect();
}
