/**
 * The file that tells llama-server which models it has: one section for each, whose name is the id of the catalogue or of the sibling.
 * Callers' ids need no mapping. Weights of embeddings with several kinds of pooling have a section for each, because llama-server fixes it at
 * the start of a model.
 */
import type { PresentWeights } from "./store.ts";
import { isOnnx, type Weights } from "./table.ts";

/** Texts of an encoder that are calculated together. llama-server's default is 4. */
const SLOTS = 16;
/** Tokens. In a longer context each text would be compared with the tokens of more others. */
const SHORT_CONTEXT = 512;

/** The sections of weights. The first one is the default. */
export const sectionsOf = ({ name, pooling: [, ...others] = [] }: Weights): string[] => [
	name,
	...others.map((pooling) => `${name}/${pooling}`),
];

/** llama-server reads the rest of a line as the value. A line break or a leading section sign would end it. */
const isSafe = (path: string): boolean => !/[\r\n;#]/.test(path);

/** The text of the file, and the weights whose path it cannot have. */
export function presetOf(present: readonly PresentWeights[]): { text: string; refused: PresentWeights[] } {
	const models = present.filter(({ weights }) => !isOnnx(weights));
	const usable = models.filter(({ weights, path }) => weights.files.every(({ name }) => isSafe(path(name))));
	const sections = usable.flatMap((one) =>
		sectionsOf(one.weights).map((section, index) => [`[${section}]`, ...optionsOf(one, index)].join("\n")),
	);
	return {
		text: `${["version = 1", "[*]\njinja = true", ...sections].join("\n\n")}\n`,
		refused: models.filter((one) => !usable.includes(one)),
	};
}

function optionsOf({ weights, path }: PresentWeights, index: number): string[] {
	const { context = 0, files, pooling, use } = weights;
	const model = files.find(({ part }) => part === undefined);
	const projector = files.find(({ part }) => part === "projector");
	// An encoder reads a whole text at once.
	const encoder = [
		...[`batch-size = ${context}`, `ubatch-size = ${context}`],
		// Each text may have the whole context.
		...(context <= SHORT_CONTEXT ? [`parallel = ${SLOTS}`, "kv-unified = true"] : []),
	];
	return [
		`model = ${path(model?.name ?? "")}`,
		...(projector ? [`mmproj = ${path(projector.name)}`] : []),
		`ctx-size = ${context}`,
		...(use === "embeddings"
			? ["embeddings = true", `pooling = ${pooling?.[index] ?? "mean"}`, ...encoder]
			: []),
		...(use === "reranking" ? ["reranking = true", "pooling = rank", ...encoder] : []),
	];
}
