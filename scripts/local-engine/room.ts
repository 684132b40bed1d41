/** Whether the disk and the memory have room for weights. It is stated before a download and before a start, not after. */
import { totalmem } from "node:os";
import { readDisk } from "../disk.ts";
import { LocalProblem } from "./problem.ts";
import { sizeText } from "./progress.ts";
import { FOLDER_SETTING } from "./store.ts";
import { memoryOf } from "./table.ts";

/** Bytes that stay free for other programs. */
const DISK_RESERVE_BYTES = 256 * 1024 * 1024;
/** Of the machine's memory, for all loaded models together. */
const MEMORY_SHARE = 0.8;

/** The environment variable with the memory for models, in gigabytes. */
const MEMORY_SETTING = "GANGLION_MODELS_MEMORY_GB";
const GIGABYTE = 1e9;

/** Bytes. The limit of a container is lower than the memory of its machine. */
export function memoryForModels(): number {
	const set = process.env[MEMORY_SETTING];
	if (!set) return Math.floor(Math.min(totalmem(), process.constrainedMemory() || totalmem()) * MEMORY_SHARE);
	const gigabytes = Number(set);
	if (gigabytes > 0) return Math.floor(gigabytes * GIGABYTE);
	throw new LocalProblem(
		"no_room",
		`${MEMORY_SETTING}: expected gigabytes, a number above 0, found another text`,
	);
}

/** Of that, for the engine of ONNX models, if it has any. */
const SIDECAR_SHARE = 0.3;

export const memoryForSidecar = (): number => Math.floor(memoryForModels() * SIDECAR_SHARE);

/** Bytes for models of llama-server. */
export const memoryForRouter = (hasOnnx: boolean): number =>
	memoryForModels() - (hasOnnx ? memoryForSidecar() : 0);

/** `bytes`: what remains to be written. */
export async function checkDisk(name: string, bytes: number, folder: string): Promise<void> {
	const { free, total } = await readDisk(folder);
	// File systems without a size.
	if (total === 0 || bytes + DISK_RESERVE_BYTES <= free) return;
	throw new LocalProblem(
		"no_room",
		`${name} needs ${sizeText(bytes)} in ${folder}, and ${sizeText(Math.max(0, free - DISK_RESERVE_BYTES))} are free for it: make space (npx ganglion models rm), or set ${FOLDER_SETTING} to a folder on another disk`,
	);
}

/** `size`: bytes of the files. */
export function checkMemory(name: string, size: number, available = memoryForModels()): void {
	const needed = memoryOf(size);
	if (needed <= available) return;
	throw new LocalProblem(
		"no_room",
		`${name} needs about ${sizeText(needed)} of memory, and this machine has ${sizeText(available)} for models: use a smaller model, or set ${MEMORY_SETTING}`,
	);
}

/** The number of models that may be loaded at once: the largest ones of this number fit. At least 1. */
export function modelsAtOnce(sizes: readonly number[], available = memoryForModels()): number {
	const largest = sizes.map(memoryOf).sort((a, b) => b - a);
	let used = 0;
	let count = 0;
	for (const bytes of largest) {
		used += bytes;
		if (used > available) break;
		count += 1;
	}
	return Math.max(1, count);
}
