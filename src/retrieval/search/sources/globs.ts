/**
 * Patterns of paths: `*` is any text without a slash, `**` any text, `?` one character other than a slash, `{a,b}` one of several texts.
 * The product uses micromatch. Its regular expressions can take exponential time, and accounts write these patterns, so they are matched here
 * in time proportional to the pattern and the text.
 */

/** Patterns that `{a,b}` stands for. */
const MAX_ALTERNATIVES = 64;
const UNSUPPORTED = /[[\]()!+@\\]/;

/** `undefined`: the pattern has other syntax, or too many alternatives. */
export function alternativesOf(pattern: string): string[] | undefined {
	if (UNSUPPORTED.test(pattern)) return undefined;
	let open = [pattern];
	for (;;) {
		const next = [...new Set(open.flatMap(expanded))];
		if (next.length > MAX_ALTERNATIVES) return undefined;
		if (next.length === open.length && next.every((one, index) => one === open[index])) break;
		open = next;
	}
	return open.some((one) => /[{}]/.test(one)) ? undefined : open;
}

/** Replaces the first innermost group. */
function expanded(pattern: string): string[] {
	const group = /\{([^{}]*)\}/.exec(pattern);
	if (!group) return [pattern];
	const [whole, list = ""] = group;
	const after = pattern.slice(group.index + whole.length);
	return list.split(",").map((one) => pattern.slice(0, group.index) + one + after);
}

/** Whether the whole text matches one of the patterns. */
export const matchesGlob = (patterns: readonly string[], text: string): boolean =>
	patterns.some((pattern) => (alternativesOf(pattern) ?? []).some((one) => matchesOne(one, text)));

type Token =
	| { kind: "text"; value: string }
	/** One character, text within a part of the path, any text, and any number of whole parts. */
	| { kind: "one" | "part" | "any" | "folders" };

function tokensOf(pattern: string): Token[] {
	const found = pattern.match(/\*\*+\/?|\*|\?|[^*?]/g) ?? [];
	return found.map((token): Token => {
		if (token.startsWith("**")) return { kind: token.endsWith("/") ? "folders" : "any" };
		if (token === "*") return { kind: "part" };
		return token === "?" ? { kind: "one" } : { kind: "text", value: token };
	});
}

/** `reached[n]`: the tokens until now match the first n characters. */
function matchesOne(pattern: string, text: string): boolean {
	let reached = new Uint8Array(text.length + 1);
	reached[0] = 1;
	for (const token of tokensOf(pattern)) reached = reachedBy(token, reached, text);
	return reached[text.length] === 1;
}

function reachedBy(token: Token, before: Uint8Array, text: string): Uint8Array<ArrayBuffer> {
	const after = new Uint8Array(text.length + 1);
	/** An earlier place of the text is reached. */
	let isBegun = false;
	for (let at = 0; at <= text.length; at++) {
		const previous = at > 0 ? text[at - 1] : undefined;
		const [stays = 0, moves = 0, continues = 0] = [before[at], before[at - 1], after[at - 1]];
		if (token.kind === "text") after[at] = previous === token.value ? moves : 0;
		else if (token.kind === "one") after[at] = previous === "/" ? 0 : moves;
		else if (token.kind === "folders") after[at] = stays || (isBegun && previous === "/" ? 1 : 0);
		else after[at] = stays || (token.kind === "part" && previous === "/" ? 0 : continues);
		isBegun ||= stays === 1;
	}
	return after;
}
