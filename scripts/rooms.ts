/**
 * The rooms that a deployment can leave out. Their modules outside of the room's own imports are replaced by one with the same exports, which
 * refuse what is asked of them.
 */
import { join } from "node:path";
import type { Plugin } from "rolldown";
import type { RoomPart } from "../src/core/left-out.ts";

/** By the module that replaces them. */
const REPLACED: Readonly<Record<RoomPart, Readonly<Record<string, readonly string[]>>>> = {
	vectors: {
		"config/left-out-rooms.ts": ["config/vectors.ts"],
		"retrieval/vectors/left-out.ts": [
			"retrieval/vectors/client/query-counts.ts",
			"retrieval/vectors/client/vector-indexes.ts",
			"retrieval/vectors/client/vector-objects.ts",
			"retrieval/vectors/durable/registry.ts",
			"retrieval/vectors/durable/vector-index.ts",
			"retrieval/vectors/move-work.ts",
		],
		"surfaces/vectorize/left-out.ts": [
			"surfaces/accounts/vector-usage.ts",
			"surfaces/vectorize/entrypoint.ts",
			"surfaces/vectorize/routes.ts",
		],
	},
	search: {
		"config/left-out-rooms.ts": ["config/search.ts"],
		"retrieval/search/left-out.ts": [
			"retrieval/search/client/search-instances.ts",
			"retrieval/search/durable/search-instance.ts",
			"retrieval/search/durable/search-registry.ts",
		],
		"surfaces/aisearch/left-out.ts": [
			"surfaces/aisearch/entrypoints.ts",
			"surfaces/aisearch/namespace-target.ts",
			"surfaces/aisearch/public-routes.ts",
			"surfaces/aisearch/rag-routes.ts",
			"surfaces/aisearch/routes.ts",
			"surfaces/aisearch/work.ts",
		],
	},
};

/** Schemas of answers, which only the document of routes names. */
const ANSWERS: Readonly<Record<RoomPart, string>> = {
	vectors: "surfaces/vectorize/answers.ts",
	search: "surfaces/aisearch/answers.ts",
};

const ROOM_PARTS = Object.keys(REPLACED) as RoomPart[];

/** The vectors of AI Search are in vector indexes. */
export const withDependents = <Name extends string>(parts: readonly Name[]): readonly (Name | "search")[] =>
	parts.some((part) => part === "vectors") ? [...new Set<Name | "search">([...parts, "search"])] : parts;

export function leaveRoomsOut(parts: readonly string[], sources: string): Plugin {
	const rooms = ROOM_PARTS.filter((part) => parts.includes(part));
	const replacements = new Map(
		rooms.flatMap((part) =>
			Object.entries(REPLACED[part]).flatMap(([by, files]) =>
				files.map((file) => [join(sources, file), join(sources, by)] as const),
			),
		),
	);
	const emptied = rooms.map((part) => join(sources, ANSWERS[part]));
	return {
		name: "leave-rooms-out",
		load(file) {
			if (emptied.includes(file)) return "export {};";
			const by = replacements.get(file);
			return by === undefined ? undefined : `export * from ${JSON.stringify(by)};`;
		},
	};
}
