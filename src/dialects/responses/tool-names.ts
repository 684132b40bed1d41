/**
 * Maps tool names between the caller and the engine.
 *
 * A flat name is never split, because `get__weather` is a valid function name. The tools of the request map it back.
 */
import { createHash } from "node:crypto";

/** The longest function name that engines accept. */
const MAX_NAME_CHARACTERS = 64;
const HASH_CHARACTERS = 8;

export interface ToolName {
	kind: "function" | "custom";
	name: string;
	namespace?: string;
}

/** The engine's name of a tool. A name that is too long ends in its hash. */
export function flatName({
	name,
	namespace,
}: {
	name: string;
	namespace?: string | null | undefined;
}): string {
	const flat = namespace ? `${namespace}__${name}` : name;
	if (flat.length <= MAX_NAME_CHARACTERS) return flat;
	const hash = createHash("sha256").update(flat).digest("hex").slice(0, HASH_CHARACTERS);
	return `${flat.slice(0, MAX_NAME_CHARACTERS - HASH_CHARACTERS - 1)}_${hash}`;
}

interface SentTool {
	type: string;
	name?: unknown;
	tools?: unknown;
}

/** The caller's tools by the engine's names. The reader has checked the tools. */
export function toolNames(tools: readonly SentTool[] | null | undefined): ReadonlyMap<string, ToolName> {
	const names = new Map<string, ToolName>();
	const add = (sent: readonly SentTool[], namespace?: string): void => {
		for (const { type, name, tools: inner } of sent) {
			if (typeof name !== "string") continue;
			if (type === "namespace" && Array.isArray(inner)) add(inner, name);
			if (type !== "function" && type !== "custom") continue;
			const toolName = { kind: type, name, ...(namespace !== undefined && { namespace }) } as const;
			names.set(flatName(toolName), toolName);
		}
	};
	add(tools ?? []);
	return names;
}
