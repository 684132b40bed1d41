/**
 * A string for a regular expression: the shortest way through it. It reads what JSON Schemas use (classes, groups,
 * alternatives, counts, anchors); what it does not read (look-around, back references, properties) gives undefined, and
 * the caller checks what it gets against the real expression.
 */

type Node =
	| { kind: "characters"; pick: string }
	| { kind: "sequence"; nodes: Node[] }
	| { kind: "choice"; options: Node[] }
	| { kind: "repeat"; node: Node; min: number; open: boolean };

/** A count of a million is no reason for a string of a million. */
const MAX_LENGTH = 4_096;
const ESCAPES: Record<string, string> = {
	d: "0",
	w: "a",
	s: " ",
	D: "a",
	W: "-",
	S: "a",
	n: "\n",
	t: "\t",
	r: "\r",
};

class Unreadable extends Error {}

function parse(pattern: string): Node {
	let at = 0;
	const peek = () => pattern[at];
	const next = () => {
		const character = pattern[at++];
		if (character === undefined) throw new Unreadable();
		return character;
	};

	function choice(): Node {
		const options = [sequence()];
		while (peek() === "|") {
			at++;
			options.push(sequence());
		}
		return options.length === 1 && options[0] ? options[0] : { kind: "choice", options };
	}

	function sequence(): Node {
		const nodes: Node[] = [];
		for (let sign = peek(); sign !== undefined && sign !== "|" && sign !== ")"; sign = peek())
			nodes.push(counted());
		return { kind: "sequence", nodes };
	}

	function counted(): Node {
		const node = atom();
		const count = /^(?:[*+?]|\{(\d+)(,(\d*))?\})\??/.exec(pattern.slice(at, at + 24));
		if (!count) return node;
		at += count[0].length;
		const sign = count[0][0];
		const min = sign === "+" ? 1 : sign === "{" ? Number(count[1]) : 0;
		const fixed = sign === "{" && count[2] === undefined;
		return { kind: "repeat", node, min, open: !fixed };
	}

	function atom(): Node {
		const sign = next();
		if (sign === "^" || sign === "$") return { kind: "characters", pick: "" };
		if (sign === ".") return { kind: "characters", pick: "a" };
		if (sign === "[") return { kind: "characters", pick: characterClass() };
		if (sign === "\\") return { kind: "characters", pick: escaped() };
		if (sign === "(") {
			const opening = /^\?(?::|<[A-Za-z]\w*>)/.exec(pattern.slice(at, at + 40));
			if (opening) at += opening[0].length;
			else if (peek() === "?") throw new Unreadable();
			const inner = choice();
			if (next() !== ")") throw new Unreadable();
			return inner;
		}
		return { kind: "characters", pick: sign };
	}

	function escaped(): string {
		const sign = next();
		if (sign === "b" || sign === "B") return "";
		if (sign === "u" || sign === "x") {
			const code = new RegExp(
				sign === "u" ? "^(?:([0-9a-fA-F]{4})|\\{([0-9a-fA-F]{1,6})\\})" : "^([0-9a-fA-F]{2})",
			).exec(pattern.slice(at, at + 10));
			if (!code) throw new Unreadable();
			at += code[0].length;
			return String.fromCodePoint(Number.parseInt(code[1] ?? code[2] ?? "0", 16));
		}
		if (/[1-9pPkc]/.test(sign)) throw new Unreadable();
		return ESCAPES[sign] ?? sign;
	}

	function characterClass(): string {
		const negated = peek() === "^";
		if (negated) at++;
		const start = at;
		let first: string | undefined;
		for (let sign = next(); sign !== "]"; sign = next()) {
			const member = sign === "\\" ? escaped() : sign;
			// A range begins with its first member, which is all that is needed.
			first ??= member;
		}
		if (!negated) {
			if (first === undefined) throw new Unreadable();
			return first;
		}
		const excluded = new RegExp(`[^${pattern.slice(start, at - 1)}]`, "u");
		const pick = "aA0 -_.~".split("").find((character) => excluded.test(character));
		if (pick === undefined) throw new Unreadable();
		return pick;
	}

	const node = choice();
	if (at < pattern.length) throw new Unreadable();
	return node;
}

function write(node: Node): string {
	switch (node.kind) {
		case "characters":
			return node.pick;
		case "sequence":
			return node.nodes.map(write).join("");
		case "choice":
			return node.options.map(write).sort((a, b) => a.length - b.length)[0] ?? "";
		case "repeat": {
			const once = write(node.node);
			if (once.length * node.min > MAX_LENGTH) throw new Unreadable();
			return once.repeat(node.min);
		}
		default:
			return node satisfies never;
	}
}

/** A string that the pattern matches, at least `minLength` long where a count in it can grow. */
export function fromPattern(pattern: string, minLength: number): string | undefined {
	try {
		const tree = parse(pattern);
		const shortest = write(tree);
		if (shortest.length >= minLength) return shortest;
		return grown(tree, minLength - shortest.length) ?? shortest;
	} catch {
		return undefined;
	}
}

/** With the first open count raised by what is missing. */
function grown(node: Node, missing: number): string | undefined {
	if (node.kind === "repeat" && node.open) {
		const once = write(node.node);
		if (once === "" || missing > MAX_LENGTH) return undefined;
		return once.repeat(node.min + Math.ceil(missing / once.length));
	}
	if (node.kind !== "sequence") return undefined;
	for (const [index, inner] of node.nodes.entries()) {
		const more = grown(inner, missing);
		if (more === undefined) continue;
		return node.nodes.map((other, place) => (place === index ? more : write(other))).join("");
	}
	return undefined;
}

/** Whether matching it can take time that grows with a power of the text: a count within a count. */
export function isCostly(pattern: string): boolean {
	const open = (node: Node): boolean => {
		if (node.kind === "repeat") return node.open || open(node.node);
		if (node.kind === "sequence") return node.nodes.some(open);
		return node.kind === "choice";
	};
	const nested = (node: Node): boolean => {
		if (node.kind === "repeat") return (node.open && open(node.node)) || nested(node.node);
		if (node.kind === "sequence") return node.nodes.some(nested);
		return node.kind === "choice" && node.options.some(nested);
	};
	try {
		return nested(parse(pattern));
	} catch {
		return true;
	}
}
