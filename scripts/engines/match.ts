/**
 * Which served model stands in for which of the catalogue. A chat is answered by the nearest model that chats, of the same
 * family if there is one, of about the same size; a picture needs a model that sees. Vectors of two models have nothing
 * in common, so embeddings and ranks come from the very model or not at all. Pure.
 */
import type { Model } from "../../src/models/model.ts";
import { can } from "../../src/models/model.ts";
import { type ModelKind, type NamedModel, readName } from "./names.ts";

export interface ServedModel extends NamedModel {
	/** As the engine calls it. */
	name: string;
}

/** What weighs how much; the smaller the sum, the nearer. A factor of two in size is 1. */
const BLIND = 20;
const OTHER_FAMILY = 6;
const OTHER_PURPOSE = 3;
const OTHER_GENERATION = 1;
const UNKNOWN_SIZE = 3;

/** As many billions above or below are the same size: names round. */
const SAME_SIZE = 0.1;

export function nearest<Served extends ServedModel>(
	model: Model,
	served: readonly Served[],
): Served | undefined {
	const wanted = readName(model.id);
	const needs = kindNeeded(model);
	if (needs === undefined) return undefined;
	if (needs === "embeddings" || needs === "reranking" || needs === "guard")
		return served.find((each) => each.kind === needs && isSame(each, wanted));
	const able = served.filter(({ kind }) => kind === "vision" || (kind === "chat" && needs === "chat"));
	const ranked = able
		.map((each) => ({ each, distance: distance(wanted, each, can(model, "vision")) }))
		.sort((a, b) => a.distance - b.distance);
	return ranked[0]?.each;
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

function distance(wanted: NamedModel, served: NamedModel, sees: boolean): number {
	const sameFamily = wanted.family !== undefined && wanted.family === served.family;
	const generations = sameFamily ? Math.abs((wanted.generation ?? 0) - (served.generation ?? 0)) : 0;
	const size =
		wanted.billions && served.billions
			? Math.abs(Math.log2(wanted.billions / served.billions))
			: UNKNOWN_SIZE;
	return (
		(sees && served.kind !== "vision" ? BLIND : 0) +
		(sameFamily ? Math.min(generations, 1) * OTHER_GENERATION : OTHER_FAMILY) +
		(wanted.codes === served.codes ? 0 : OTHER_PURPOSE) +
		size
	);
}
