/** `ganglion doctor --engine local`: whether this machine can run models, which weights it has, and what a running gateway does with them. */
import * as z from "zod";
import type { Finding } from "../engines/doctor.ts";
import { findLlamaServer } from "./binary.ts";
import { installProblem } from "./packages.ts";
import { LocalProblem } from "./problem.ts";
import { sizeText } from "./progress.ts";
import { checkMemory } from "./room.ts";
import { LOCAL } from "./settings.ts";
import { allPresent, FOLDER_SETTING, modelsFolder, type PresentWeights } from "./store.ts";
import { folderProblem } from "./unwritable.ts";

/** A row of `/client/v4/local-models`. Shares are from 0 to 1. */
export const RunningModel = z.object({
	name: z.string(),
	state: z.string(),
	load_progress: z.number().optional(),
	progress: z.object({ done: z.number(), total: z.number() }).optional(),
	problem: z.string().optional(),
});
type RunningModel = z.output<typeof RunningModel>;

/** `running`: the models of a gateway on this machine. Empty: none runs. */
export async function examineLocalModels(
	env: Readonly<Record<string, string | undefined>>,
	running: readonly RunningModel[] = [],
): Promise<Finding[]> {
	const finding = (check: Finding["check"], result: Finding["result"], detail: string): Finding => ({
		...{ backend: LOCAL, url: "", check, result, detail },
	});
	const folder = modelsFolder(env);
	const present = allPresent(folder);
	const server = await findLlamaServer(env).then(
		({ command }) => finding("llama-server", "ok", `${command} serves several models`),
		(error: unknown) => finding("llama-server", "failed", messageOf(error)),
	);
	const weights =
		present.length === 0
			? [
					finding(
						"weights",
						"warning",
						`${folder} has none: npx ganglion models pull NAME (npx ganglion models list)`,
					),
				]
			: present.map((one) => {
					const problem = memoryProblem(one);
					const state = running.find(({ name }) => name === one.weights.name);
					return finding("weights", problem ? "warning" : "ok", problem ?? describe(one) + stateText(state));
				});
	const unwritable = await folderProblem(folder, FOLDER_SETTING);
	const uninstallable = await installProblem(env);
	const downloads = running.filter(({ state }) => state === "downloading");
	const problems = running.filter(({ problem }) => problem !== undefined);
	return [
		server,
		...weights,
		...(unwritable === undefined
			? []
			: [finding("weights", present.length === 0 ? "failed" : "warning", unwritable)]),
		...(uninstallable === undefined ? [] : [finding("packages", "warning", uninstallable)]),
		...downloads.map((one) => finding("weights", "ok", `${one.name} is not complete${stateText(one)}`)),
		...problems.map(({ problem = "" }) => finding("weights", "warning", problem)),
	];
}

/** After a name. */
function stateText(model: RunningModel | undefined): string {
	if (!model) return "";
	const { state, load_progress: loaded, progress } = model;
	const share = progress ? progress.done / Math.max(1, progress.total) : loaded;
	return `, ${state}${share === undefined ? "" : ` ${Math.floor(share * 100)} %`}`;
}

const describe = ({ weights, size, manifest }: PresentWeights): string =>
	`${weights.name} is here (${sizeText(size)}, ${manifest.repository}@${manifest.revision})`;

function memoryProblem({ weights, size }: PresentWeights): string | undefined {
	try {
		checkMemory(weights.name, size);
		return undefined;
	} catch (error) {
		return messageOf(error);
	}
}

function messageOf(error: unknown): string {
	if (error instanceof LocalProblem) return error.message;
	throw error;
}
