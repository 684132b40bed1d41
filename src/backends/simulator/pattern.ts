/** A string for a regular expression of a JSON Schema: the shortest match. The caller validates the result. */
import { type Expression, readExpression } from "../../schemas/expression.ts";

/** The limit of repetitions. */
const MAX_LENGTH = 4_096;

/** Undefined if it has an unsupported character, or too many. */
function write(node: Expression): string | undefined {
	switch (node.kind) {
		case "assertion":
			return "";
		case "character":
			return node.pick;
		case "sequence":
			return joined(node.parts.map(write));
		case "choice":
			return node.options
				.map(write)
				.filter((option) => option !== undefined)
				.sort((a, b) => a.length - b.length)[0];
		case "repeat":
			return times(write(node.part), node.min);
		default:
			return node satisfies never;
	}
}

function joined(parts: (string | undefined)[]): string | undefined {
	const defined = parts.filter((part) => part !== undefined);
	const text = defined.length === parts.length ? defined.join("") : undefined;
	return text === undefined || text.length > MAX_LENGTH ? undefined : text;
}

function times(once: string | undefined, count: number): string | undefined {
	if (count === 0) return "";
	return once === undefined || once.length * count > MAX_LENGTH ? undefined : once.repeat(count);
}

/** A string that the pattern matches, at least `minLength` long where a count in it can grow. */
export function fromPattern(pattern: string, minLength: number): string | undefined {
	const tree = readExpression(pattern);
	const shortest = tree && write(tree);
	if (!tree || shortest === undefined || shortest.length >= minLength) return shortest;
	return grown(tree, minLength - shortest.length) ?? shortest;
}

/** Raises the first variable count by the missing length. */
function grown(node: Expression, missing: number): string | undefined {
	if (node.kind === "repeat" && node.max > node.min) {
		const once = write(node.part);
		return once ? times(once, node.min + Math.ceil(missing / once.length)) : undefined;
	}
	if (node.kind !== "sequence") return undefined;
	for (const [index, inner] of node.parts.entries()) {
		const more = grown(inner, missing);
		if (more !== undefined)
			return joined(node.parts.map((other, place) => (place === index ? more : write(other))));
	}
	return undefined;
}
