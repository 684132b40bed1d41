/**
 * Reads a model's family, kind and size from its name, with the table `families.json`. Engines and catalogues use different names for the
 * same model (`@cf/meta/llama-3.2-3b-instruct`, `llama3.2:3b`, `bartowski/Llama-3.2-3B-Instruct-GGUF`). Pure.
 */
import table from "./families.json" with { type: "json" };

export type ModelKind = "chat" | "vision" | "embeddings" | "reranking" | "guard" | "other";

export interface NamedModel {
	kind: ModelKind;
	/** Absent: not in the table. The model then counts as a chat model. */
	family?: string;
	/** `3.2` of `llama3.2`. */
	generation?: number;
	/** Billions of parameters, all experts together. */
	billions?: number;
	/** Made for code. */
	codes: boolean;
}

interface Family {
	family: string;
	kind: ModelKind;
	names: string[];
}

const FAMILIES = table.families as Family[];
const BILLIONS = Object.entries(table.billions);

/** Matches `70b`, `0.5b`, `270m`, `8x7b`; not `fp8` or `4bit`. */
const SIZE = /(?:^|[^a-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)([bm])(?![a-z0-9])/g;

export function readName(name: string): NamedModel {
	const text = name.toLowerCase().replaceAll("_", "-");
	const found = FAMILIES.find(({ names }) => names.some((part) => contains(text, part)));
	const billions = sizeIn(text);
	const generation = found && generationIn(text, found);
	return {
		kind: found?.kind ?? "chat",
		...(found && { family: found.family }),
		...(generation !== undefined && { generation }),
		...(billions !== undefined && { billions }),
		codes: /code|coder|codestral|devstral/.test(text),
	};
}

/** Matches only at the start of a word: `phi` is not in `dolphin`. */
function contains(text: string, part: string): boolean {
	for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1))
		if (at === 0 || !/[a-z]/.test(part[0] ?? "") || !/[a-z]/.test(text[at - 1] ?? "")) return true;
	return false;
}

function sizeIn(text: string): number | undefined {
	const sizes = [...text.matchAll(SIZE)].map(
		([, experts = "1", count = "0", unit]) => (Number(experts) * Number(count)) / (unit === "m" ? 1000 : 1),
	);
	// Names of mixture-of-experts models also have the size of the active experts. The larger one is the total.
	const largest = sizes.length > 0 ? Math.max(...sizes) : undefined;
	return BILLIONS.find(([part]) => contains(text, part))?.[1] ?? largest;
}

/** The number after the family's name, if it is not its size. */
function generationIn(text: string, { family }: Family): number | undefined {
	const match = new RegExp(`${family}-?v?(\\d+(?:\\.\\d+)?)(?![0-9.]*[bmx])`).exec(text);
	return match?.[1] === undefined ? undefined : Number(match[1]);
}
