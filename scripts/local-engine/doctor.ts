/** `ganglion doctor --engine local`: whether this machine can run models, and which weights it has. */
import type { Finding } from "../engines/doctor.ts";
import { findLlamaServer } from "./binary.ts";
import { LocalProblem } from "./problem.ts";
import { sizeText } from "./progress.ts";
import { checkMemory } from "./room.ts";
import { LOCAL } from "./settings.ts";
import { allPresent, modelsFolder, type PresentWeights } from "./store.ts";

export async function examineLocalModels(
	env: Readonly<Record<string, string | undefined>>,
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
						`${folder} has none: ganglion models pull NAME (ganglion models list)`,
					),
				]
			: present.map((one) => {
					const problem = memoryProblem(one);
					return finding("weights", problem ? "warning" : "ok", problem ?? describe(one));
				});
	return [server, ...weights];
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
