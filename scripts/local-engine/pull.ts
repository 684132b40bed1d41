/** Downloads weights: asks for the licence, finds the files, checks the room, and then writes. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { parseJson } from "../../src/core/json.ts";
import { makeFolder } from "../make-folder.ts";
import { downloadFile } from "./download.ts";
import { NO_REVISION } from "./folder-source.ts";
import { LocalProblem } from "./problem.ts";
import { type Progress, ProgressMeter } from "./progress.ts";
import { checkLocked } from "./project-lock.ts";
import { checkDisk, checkMemory } from "./room.ts";
import type { Source } from "./source.ts";
import {
	FOLDER_SETTING,
	fileOf,
	type Manifest,
	PARTIAL,
	type PresentWeights,
	presentWeights,
	readManifest,
	sizeOf,
	writeManifest,
} from "./store.ts";
import { approximateSize, type Licence, licenceOf, type Weights } from "./table.ts";
import { unwritable } from "./unwritable.ts";

interface PullOptions {
	/** Of all weights. */
	folder: string;
	source: Source;
	signal: AbortSignal;
	report(progress: Progress): void;
	/** Whether the user accepts the licence. Called only if it asks for that and was not accepted before. */
	accept(licence: Licence): boolean | Promise<boolean>;
	/** What the project's lock names. */
	locked?: Manifest | undefined;
	/** Also compares the hashes of files that are complete. */
	checkHashes?: boolean;
	/** Also weights that need more memory than this machine has. */
	ignoreMemory?: boolean;
}

export async function pullWeights(weights: Weights, options: PullOptions): Promise<PresentWeights> {
	try {
		return await pull(weights, options);
	} catch (error) {
		throw unwritable(error, options.folder, FOLDER_SETTING);
	}
}

async function pull(weights: Weights, options: PullOptions): Promise<PresentWeights> {
	const { folder, source, signal, locked, checkHashes = false } = options;
	const present = presentWeights(folder, weights);
	if (present && locked) await checkLocked(present, locked);
	if (present && !checkHashes) return present;
	await checkLicence(weights, options);
	// The table is close enough to refuse before the hub is called.
	if (!options.ignoreMemory) checkMemory(weights.name, approximateSize(weights));
	const kept = readManifest(folder, weights);
	const isUsable = kept && (kept.revision !== NO_REVISION || present);
	const isKept = isUsable && (present || !locked);
	const manifest = isKept ? kept : await manifestOf(weights, options);
	const files = manifest.files.filter(({ name }) => weights.files.some((file) => file.name === name));
	const total = files.reduce((sum, { size }) => sum + size, 0);
	if (!options.ignoreMemory) checkMemory(weights.name, total);
	const done = new Map(
		files.map(({ name, size }) => [name, Math.min(size, bytesOnDisk(folder, manifest, name))]),
	);
	const sum = (): number => [...done.values()].reduce((all, bytes) => all + bytes, 0);
	await checkDisk(weights.name, total - sum(), folder);
	writeManifest(folder, manifest);
	const meter = new ProgressMeter(total, sum());
	const report = (): void => options.report(meter.read());
	report();
	for (const file of files)
		await downloadFile(
			{
				...{ source, manifest, file, signal },
				path: fileOf(folder, manifest, file.name),
				report(bytes) {
					done.set(file.name, bytes);
					meter.report(sum());
					report();
				},
			},
			{ checkHash: checkHashes },
		);
	const complete = presentWeights(folder, weights);
	if (complete) return complete;
	throw new LocalProblem(
		"weights_unavailable",
		`The files of ${weights.name} in ${folder} were removed while they were written`,
	);
}

/** A lock of files that came from a folder has no revision. */
async function manifestOf(weights: Weights, { source, locked, signal }: PullOptions): Promise<Manifest> {
	if (locked && locked.revision !== NO_REVISION) return locked;
	const stated = await source.manifestOf(weights, signal);
	return locked ? { ...stated, files: locked.files } : stated;
}

function bytesOnDisk(folder: string, manifest: Manifest, name: string): number {
	const path = fileOf(folder, manifest, name);
	return sizeOf(path) || sizeOf(path + PARTIAL);
}

const ACCEPTED = "accepted-licences.json";
const Accepted = z.array(z.string());

function readAccepted(folder: string): string[] {
	const file = join(folder, ACCEPTED);
	return existsSync(file) ? (Accepted.safeParse(parseJson(readFileSync(file, "utf8"))).data ?? []) : [];
}

export const isAccepted = (folder: string, { id, accept }: Licence): boolean =>
	accept === undefined || readAccepted(folder).includes(id);

async function checkLicence(weights: Weights, { folder, accept }: PullOptions): Promise<void> {
	const licence = licenceOf(weights);
	if (isAccepted(folder, licence)) return;
	if (!(await accept(licence)))
		throw new LocalProblem(
			"licence_not_accepted",
			`${weights.name} has the licence "${licence.name}", which you must accept once: read ${licence.accept}, then run: npx ganglion models pull ${weights.name} --accept-licence`,
		);
	makeFolder(folder);
	const file = join(folder, ACCEPTED);
	const accepted = [...new Set([...readAccepted(folder), licence.id])].sort();
	writeFileSync(`${file}.${process.pid}`, `${JSON.stringify(accepted)}\n`);
	renameSync(`${file}.${process.pid}`, file);
}
