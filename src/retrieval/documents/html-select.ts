/**
 * Selects elements by a CSS selector, in document order. If selected elements are nested, only the outermost is returned.
 *
 * `html-compound.ts` tests the compounds (`p.intro:first-child`). The combinators are implemented here, with one pass over the tree
 * for each: libraries carry their rules down the tree once per ancestor, so that `a b c` takes time cubic in the depth, and one page
 * can block a Worker for minutes.
 *
 * Specifications: Selectors 4 (https://www.w3.org/TR/selectors-4/) and the HTML standard, for pages without quirks mode.
 * Differences: names of elements and attributes are compared in any case, also in SVG. `:checked` is the attribute `checked` or
 * `selected`, and `:disabled` the element's own `disabled`, without that of its `fieldset` or `optgroup`. What is not supported is
 * refused with its name, also inside `:is()`, where browsers ignore it.
 */
import type { Element, Root } from "hast";
import { compoundTest, type ElementPlace, type Test } from "./html-compound.ts";
import { readSelector, type SelectorStep } from "./html-selector.ts";
import type { Work } from "./work.ts";

/** Matching one compound costs less than one element. */
const TESTS_PER_UNIT = 10;
export function selectElements(tree: Root, selector: string, work: Work): Element[] {
	const places = placesOf(tree);
	const found = new Set<Element>();
	const alternatives = readSelector(selector).map((steps) =>
		steps.map(({ combinator, compound }) => ({ combinator, test: compoundTest(compound) })),
	);
	for (const steps of alternatives) {
		let matches: ReadonlySet<Element> | undefined;
		for (const { combinator, test } of steps) {
			work.spend(places.size / TESTS_PER_UNIT);
			const candidates = matching(test, places);
			matches = matches ? related(tree, matches, combinator, candidates) : candidates;
		}
		for (const match of matches ?? []) found.add(match);
	}
	return outermost(tree, found);
}

/** Adds all elements below `parent`. */
function placesOf(
	parent: Root | Element,
	places = new Map<Element, ElementPlace>(),
): Map<Element, ElementPlace> {
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
function matching(test: Test, places: ReadonlyMap<Element, ElementPlace>): Set<Element> {
	const matches = new Set<Element>();
	for (const [element, place] of places) if (test(element, place)) matches.add(element);
	return matches;
}

/** The elements of `candidates` that the combinator relates to an element of `from`. */
function related(
	tree: Root,
	from: ReadonlySet<Element>,
	combinator: SelectorStep["combinator"],
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
