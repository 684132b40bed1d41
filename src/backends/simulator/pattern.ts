/** A string for a regular expression of a JSON Schema: the shortest way through it. The caller checks what it gets. */
import { type Expression, readExpression } from "../../schemas/expression.ts";

/** A count of a million is no reason for a string of a million. */
const MAX_LENGTH = 4_096;

/** Undefined where it has a character that is not known, or too many. */
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
	const known = parts.filter((part) => part !== undefined);
	const text = known.length === parts.length ? known.join("") : undefined;
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

/** With the first count that is not fixed raised by what is missing. */
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
