/**
 * Selects elements by a CSS selector, in document order. If selected elements are nested, only the outermost is returned.
 *
 * `html-compound.ts` tests the compounds (`p.intro:first-child`). The combinators are implemented here, with one pass over the tree
 * for each: libraries carry their rules down the tree once per ancestor, so that `a b c` takes time cubic in the depth, and one page
 * can block a Worker for minutes.
 *
 * Not supported and refused: pseudo-classes that depend on descendants or on ancestors above the parent (`:has()`,
 * `:empty`, `:root`, `:scope`, `:lang()`), and combinators inside `:is()` and `:not()`.
 */
import type { Element, Root } from "hast";
import { compoundTest, type Place, type Test } from "./html-compound.ts";
import { ConversionFailure, type Work } from "./work.ts";

/** Matching one compound costs less than one element. */
const TESTS_PER_UNIT = 10;
const PSEUDO_CLASSES =
	/^:(?:not|is|where|matches|any|first-child|last-child|only-child|nth-(?:last-)?child|(?:first|last|only)-of-type|nth-(?:last-)?of-type|any-link|checked|disabled|enabled|optional|required)$/;

type Combinator = " " | ">" | "+" | "~";
interface Step {
	combinator: Combinator;
	compound: string;
}

export function selectElements(tree: Root, selector: string, work: Work): Element[] {
	const places = placesOf(tree);
	const found = new Set<Element>();
	for (const alternative of split(selector, /,/)) {
		let matches: ReadonlySet<Element> | undefined;
		for (const { combinator, compound } of stepsOf(alternative)) {
			work.spend(places.size / TESTS_PER_UNIT);
			const candidates = matching(compound, places);
			matches = matches ? related(tree, matches, combinator, candidates) : candidates;
		}
		for (const match of matches ?? []) found.add(match);
	}
	return outermost(tree, found);
}

/** Adds all elements below `parent`. */
function placesOf(parent: Root | Element, places = new Map<Element, Place>()): Map<Element, Place> {
	const elements = elementsOf(parent);
	const types = new Map<string, number>();
	const typeIndexes = elements.map(({ tagName }) => {
		const typeIndex = (types.get(tagName) ?? 0) + 1;
		types.set(tagName, typeIndex);
		return typeIndex;
	});
	for (const [i, element] of elements.entries()) {
		const [typeIndex = 0, typeCount = 0] = [typeIndexes[i], types.get(element.tagName)];
		places.set(element, { index: i + 1, count: elements.length, typeIndex, typeCount });
		placesOf(element, places);
	}
	return places;
}

/** The elements that match one compound. */
function matching(compound: string, places: ReadonlyMap<Element, Place>): Set<Element> {
	const test = readCompound(compound);
	const matches = new Set<Element>();
	for (const [element, place] of places) if (test(element, place)) matches.add(element);
	return matches;
}

function readCompound(compound: string): Test {
	try {
		return compoundTest(compound);
	} catch (cause) {
		throw new ConversionFailure("The cssSelector cannot be read", { cause });
	}
}

/** The elements of `candidates` that the combinator relates to an element of `from`. */
function related(
	tree: Root,
	from: ReadonlySet<Element>,
	combinator: Combinator,
	candidates: ReadonlySet<Element>,
): Set<Element> {
	const matches = new Set<Element>();
	const visit = (parent: Root | Element, below: boolean): void => {
		let before: Element | undefined;
		let after = false;
		for (const element of elementsOf(parent)) {
			const holds = {
				" ": below,
				">": parent.type === "element" && from.has(parent),
				"+": before !== undefined && from.has(before),
				"~": after,
			}[combinator];
			if (holds && candidates.has(element)) matches.add(element);
			visit(element, below || from.has(element));
			before = element;
			after ||= from.has(element);
		}
	};
	visit(tree, false);
	return matches;
}

const outermost = (parent: Root | Element, found: ReadonlySet<Element>): Element[] =>
	elementsOf(parent).flatMap((element) => (found.has(element) ? [element] : outermost(element, found)));

const elementsOf = ({ children }: Root | Element): Element[] =>
	(children as Root["children"]).filter((child): child is Element => child.type === "element");

/** `main > p a:not(.x)` -> `main`, `> p`, ` a:not(.x)` */
function stepsOf(selector: string): Step[] {
	const spaced = split(selector, /([>+~])/).join(" ");
	const tokens = split(spaced, /\s/).filter((token) => token !== "");
	const steps: Step[] = [];
	let combinator: Combinator | undefined;
	for (const token of tokens) {
		if (token === ">" || token === "+" || token === "~") {
			if (combinator || steps.length === 0) throw new ConversionFailure("The cssSelector cannot be read");
			combinator = token;
		} else {
			refuseUnsupported(token);
			steps.push({ combinator: combinator ?? " ", compound: token });
			combinator = undefined;
		}
	}
	if (combinator || steps.length === 0) throw new ConversionFailure("The cssSelector cannot be read");
	return steps;
}

function refuseUnsupported(compound: string): void {
	const bare = compound.replace(/\[[^\]]*\]/g, "").replace(/(:nth-[\w-]+)\([^()]*\)/g, "$1");
	for (const pseudo of bare.match(/:+[\w-]*/g) ?? [])
		if (!PSEUDO_CLASSES.test(pseudo))
			throw new ConversionFailure(`The cssSelector has '${pseudo}', which is not supported`);
	if (/[>+~]|[^\s,(]\s+[^\s,)]/.test(bare))
		throw new ConversionFailure(
			"The cssSelector has a combinator inside parentheses, which is not supported",
		);
}

/** Splits at separators outside brackets, parentheses and quotes. If `separator` is a group, the separators are kept. */
function split(selector: string, separator: RegExp): string[] {
	const keeps = separator.source.startsWith("(");
	const parts = [""];
	let brackets = 0;
	let quote = "";
	for (let i = 0; i < selector.length; i++) {
		let text = selector[i] ?? "";
		if (text === "\\") text += selector[++i] ?? "";
		else if (quote) quote = text === quote ? "" : quote;
		else if (text === '"' || text === "'") quote = text;
		else if (text === "(" || text === "[") brackets++;
		else if (text === ")" || text === "]") brackets--;
		else if (brackets === 0 && separator.test(text)) {
			if (keeps) parts.push(text);
			parts.push("");
			continue;
		}
		parts[parts.length - 1] += text;
	}
	return parts;
}
