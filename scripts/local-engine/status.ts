/** What the operator sees: the weights with their sizes, states and problems, and the room for them. */
import { readDisk } from "../disk.ts";
import type { Engines } from "./commands.ts";
import type { LibraryRow } from "./library.ts";
import type { ModelState } from "./models.ts";
import { sectionsOf } from "./preset.ts";
import { LocalProblem } from "./problem.ts";
import type { Progress } from "./progress.ts";
import { memoryForModels } from "./room.ts";
import { isOnnx, licenceOf, memoryOf, servedModels, type Weights } from "./table.ts";

/** `problems`: why the last command failed, by the name of the weights. */
export async function statusOf(
	{ library, router, sidecar }: Engines,
	problems: ReadonlyMap<string, string>,
): Promise<object> {
	const states = new Map([...router.states, ...(await sidecar.states())]);
	const rows = library.rows();
	const here = new Set(rows.flatMap(({ weights, present }) => (present ? [weights] : [])));
	const served = [...servedModels(Date.now(), (weights) => here.has(weights))];
	return {
		folder: library.folder,
		memory_bytes: memoryForModels(),
		disk_free_bytes: (await readDisk(library.folder)).free,
		models: rows.map((row) => ({
			...describeRow(row, states),
			serves: served.flatMap(([id, { weights }]) => (weights === row.weights ? [id] : [])),
			...problemOf(row, states, problems),
		})),
	};
}

/** A model that a restart of its process does not help. */
export const loadProblem = ({ name }: Weights): LocalProblem =>
	new LocalProblem(
		"weights_unreadable",
		`llama-server cannot load ${name}: check its files with \`npx ganglion models pull ${name}\`, or update llama.cpp`,
	);

type States = ReadonlyMap<string, ModelState>;

const statesOf = (weights: Weights, all: States): ModelState[] =>
	sectionsOf(weights).flatMap((section) => all.get(section) ?? []);

function describeRow({ weights, present, progress }: LibraryRow, all: States): object {
	const { name, repository, relation, use } = weights;
	const states = statesOf(weights, all);
	const state = states.find(({ value }) => value !== "unloaded") ?? states[0];
	const licence = licenceOf(weights);
	const size = present?.size ?? weights.files.reduce((sum, { megabytes }) => sum + megabytes * 1_000_000, 0);
	const loaded = states.filter(({ value }) => value === "loaded" || value === "loading").length;
	return {
		...{ name, repository, relation, use, size, licence: licence.name },
		memory: memoryOf(size),
		/** A model with two kinds of pooling has two processes. */
		loaded_bytes: loaded * memoryOf(size),
		...(licence.accept !== undefined && { licence_text: licence.accept }),
		...(present && { revision: present.manifest.revision }),
		state: progress ? "downloading" : present ? (state?.value ?? "unloaded") : "missing",
		...(state?.failed && { failed: true }),
		...(state?.progress !== undefined && { load_progress: state.progress }),
		...(progress && { progress: describeProgress(progress) }),
	};
}

function problemOf(
	{ weights, present }: LibraryRow,
	all: States,
	problems: ReadonlyMap<string, string>,
): { problem?: string } {
	const isUnreadable = present && !isOnnx(weights) && statesOf(weights, all).some(({ failed }) => failed);
	const problem = problems.get(weights.name) ?? (isUnreadable ? loadProblem(weights).message : undefined);
	return problem === undefined ? {} : { problem };
}

const describeProgress = ({ done, total, perSecond, secondsLeft }: Progress): object => ({
	...{ done, total, per_second: perSecond },
	...(secondsLeft !== undefined && { seconds_left: secondsLeft }),
});
