/** The limits of the counts of this process, from the machine and the settings. */
import { bufferedBytes, openSockets, runBytes, vectorBytes } from "../core/process-counts.ts";
import { bufferedBytesOf, type Capacity, capacityOf, vectorBytesOf } from "./capacity.ts";
import type { Config } from "./index.ts";

/** `processes`: all open objects and resumable streams are on one machine, and each process counts its own calls. */
export function limitProcess(
	{ limits, memoryBytes, openFiles }: Pick<Config, "limits" | "memoryBytes" | "openFiles">,
	processes: number,
): Pick<Capacity, "exports" | "objects" | "requests"> {
	const { exports, objects, requests, sockets } = capacityOf(openFiles);
	openSockets.limitTo(sockets);
	if (memoryBytes !== undefined) {
		bufferedBytes.limitTo(bufferedBytesOf(memoryBytes));
		vectorBytes.limitTo(vectorBytesOf(memoryBytes));
	}
	runBytes.limitTo(limits.runBytes / processes);
	return { exports, requests, objects: Math.ceil(objects / processes) };
}
