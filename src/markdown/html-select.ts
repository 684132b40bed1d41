/**
 * The elements that a CSS selector names, in document order; of nested ones, the outermost.
 *
 * hast-util-select tests compounds (`p.intro:first-child`), each among its siblings alone. The combinators between
 * them are ours: the library carries its rules down the tree once for each ancestor, so that `a b c` costs the depth
 * to the third power, and one page can hold a Worker for minutes.
 *
 * Not supported, and refused: pseudo-classes that look below the element or above its parent (`:has()`, `:empty`,
 * `:root`, `:scope`, `:lang()`), and combinators inside `:is()` and `:not()`.
 */
import type { Element, Root } from "hast";
import { selectAll } from "hast-util-select";
import { ConversionFailure, type Work } from "./work.ts";

/** Tests of a compound cost less than elements do. */
const TESTS_PER_UNIT = 10;
/** The library looks through all that it has found for each that it finds. */
const BATCH = 500;
const PSEUDO_CLASSES =
	/^:(?:not|is|where|matches|any|first-child|last-child|only-child|nth-(?:last-)?child|(?:first|last|only)-of-type|nth-(?:last-)?of-type|any-link|checked|disabled|enabled|optional|required)$/;

type Combinator = " " | ">" | "+" | "~";
interface Step {
	combinator: Combinator;
	compound: string;
}

export function selectElements(tree: Root, selector: string, work: Work): Element[] {
	const families = familiesOf(tree);
	const count = families.reduce((sum, { length }) => sum + length, 0);
	const found = new Set<Element>();
	for (const alternative of split(selector, /,/)) {
		let matches: ReadonlySet<Element> | undefined;
		for (const { combinator, compound } of stepsOf(alternative)) {
			work.spend(count / TESTS_PER_UNIT);
			const fitting = test(compound, families);
			matches = matches ? related(tree, matches, combinator, fitting) : fitting;
		}
		for (const match of matches ?? []) found.add(match);
	}
	return outermost(tree, found);
}

/** The elements of each parent. */
function familiesOf(parent: Root | Element): Element[][] {
	const elements = elementsOf(parent);
	return elements.length > 0 ? [elements, ...elements.flatMap(familiesOf)] : [];
}

function test(compound: string, families: readonly Element[][]): Set<Element> {
	const among = compound.includes(":") ? families : batches(families.flat());
	const fitting = new Set<Element>();
	for (const family of among) {
		// Childless, or each element would be met again in its parents.
		const leaves = family.map((element): Element => ({ ...element, children: [] }));
		const selected = new Set(ask(compound, { type: "root", children: leaves }));
		for (const [i, leaf] of leaves.entries()) {
			const element = family[i];
			if (element && selected.has(leaf)) fitting.add(element);
		}
	}
	return fitting;
}

function ask(compound: string, tree: Root): Element[] {
	try {
		return selectAll(compound, tree);
	} catch (cause) {
		throw new ConversionFailure("The cssSelector cannot be read", { cause });
	}
}

/** Those of `fitting` that stand to one of `from` as the combinator says. */
function related(
	tree: Root,
	from: ReadonlySet<Element>,
	combinator: Combinator,
	fitting: ReadonlySet<Element>,
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
			if (holds && fitting.has(element)) matches.add(element);
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

function batches(elements: readonly Element[]): Element[][] {
	const count = Math.ceil(elements.length / BATCH);
	return Array.from({ length: count }, (_, i) => elements.slice(i * BATCH, (i + 1) * BATCH));
}

/** `main > p a:not(.x)` -> `main`, `> p`, ` a:not(.x)` */
function stepsOf(selector: string): Step[] {
	const spaced = split(selector, /([>+~])/).join(" ");
	const words = split(spaced, /\s/).filter((word) => word !== "");
	const steps: Step[] = [];
	let combinator: Combinator | undefined;
	for (const word of words) {
		if (word === ">" || word === "+" || word === "~") {
			if (combinator || steps.length === 0) throw new ConversionFailure("The cssSelector cannot be read");
			combinator = word;
		} else {
			refuseUnsupported(word);
			steps.push({ combinator: combinator ?? " ", compound: word });
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

/** Splits where one character stands outside of brackets, parentheses and quotes. A group keeps the separators. */
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
