/**
 * Chooses the served model that answers for a model of the catalogue. For chat it is the nearest chat model: the same family if there is
 * one, and a similar size. Images need a model with vision. Embeddings of two models are not comparable, so embeddings and ranks need the same
 * model. Pure.
 */
import type { Model } from "../../src/models/model.ts";
import { can } from "../../src/models/model.ts";
import { type ModelKind, type NamedModel, readName } from "./names.ts";

export interface ServedModel extends NamedModel {
	/** The engine's name of the model. */
	name: string;
}

/** Distances; the model with the smallest sum is the nearest. A factor of two in size is 1. */
const NO_VISION = 20;
const OTHER_FAMILY = 6;
const OTHER_PURPOSE = 3;
const OTHER_GENERATION = 1;
const UNKNOWN_SIZE = 3;

/** Sizes with a smaller difference, in billions, are equal, because names contain rounded sizes. */
const SAME_SIZE = 0.1;

export function nearest<Served extends ServedModel>(
	model: Model,
	served: readonly Served[],
): Served | undefined {
	const target = readName(model.id);
	const needs = kindNeeded(model);
	if (needs === undefined) return undefined;
	if (needs === "embeddings" || needs === "reranking" || needs === "guard")
		return served.find((candidate) => candidate.kind === needs && isSame(candidate, target));
	const able = served.filter(({ kind }) => kind === "vision" || (kind === "chat" && needs === "chat"));
	const ranked = able
		.map((candidate) => ({ candidate, distance: distance(target, candidate, can(model, "vision")) }))
		.sort((a, b) => a.distance - b.distance);
	return ranked[0]?.candidate;
}

/** `undefined`: no engine of this kind has such a model. */
function kindNeeded({ task, input, output }: Model): ModelKind | undefined {
	switch (task) {
		case "Text Generation":
			if (input === "decision-clef") return undefined;
			if (output === "guard-response") return "guard";
			return input === "chat-image" ? "vision" : "chat";
		case "Image-to-Text":
			return "vision";
		case "Text Embeddings":
			return "embeddings";
		default:
			return input === "rerank" ? "reranking" : undefined;
	}
}

function isSame(a: NamedModel, b: NamedModel): boolean {
	if (a.family !== b.family) return false;
	if (a.billions === undefined || b.billions === undefined) return true;
	return Math.abs(a.billions - b.billions) <= SAME_SIZE;
}

function distance(target: NamedModel, served: NamedModel, needsVision: boolean): number {
	const sameFamily = target.family !== undefined && target.family === served.family;
	const generations = sameFamily ? Math.abs((target.generation ?? 0) - (served.generation ?? 0)) : 0;
	const size =
		target.billions && served.billions
			? Math.abs(Math.log2(target.billions / served.billions))
			: UNKNOWN_SIZE;
	return (
		(needsVision && served.kind !== "vision" ? NO_VISION : 0) +
		(sameFamily ? Math.min(generations, 1) * OTHER_GENERATION : OTHER_FAMILY) +
		(target.codes === served.codes ? 0 : OTHER_PURPOSE) +
		size
	);
}
