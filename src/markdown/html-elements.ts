/**
 * The open elements of a page that is parsed, and the tree below them. Elements and depth are limited while the tree is built: a few
 * kilobytes can become millions of elements (unclosed formatting opens again in every paragraph), and the later steps are recursive.
 */
import type { Element, Properties } from "hast";
import { AROUND_CELLS, FOREIGN, HTML_IN_FOREIGN, IN_TABLE, MARKERS, type Tags, VOID } from "./html-rules.ts";
import { ConversionFailure, type Work } from "./work.ts";

/** Browsers stop at 512; real pages stay below 100. */
const MAX_DEPTH = 256;
/** Formatting that opens again copies its attributes. */
const ATTRIBUTES_PER_UNIT = 8;

export class OpenElements {
	readonly html: Element;
	/** From `html` to the current element. */
	readonly open: Element[] = [];
	/** Open formatting, and formatting that opens again. `undefined` starts a table cell or the like: what is before it stays closed. */
	readonly formatting: (Element | undefined)[] = [];
	readonly #parents = new Map<Element, Element>();
	/** How many of the open elements are `svg` or `math`. */
	#foreign = 0;
	readonly #work: Work;

	constructor(work: Work) {
		this.#work = work;
		this.html = this.create("html", {});
		this.open.push(this.html);
	}

	get current(): Element {
		return this.open.at(-1) ?? this.html;
	}

	/** Whether tags are those of SVG or MathML here. */
	get isForeign(): boolean {
		if (this.#foreign === 0) return false;
		const nearest = this.open.findLast(({ tagName }) => FOREIGN.has(tagName) || HTML_IN_FOREIGN.has(tagName));
		return nearest !== undefined && FOREIGN.has(nearest.tagName);
	}

	create(tagName: string, properties: Properties): Element {
		this.#work.spend(1 + Object.keys(properties).length / ATTRIBUTES_PER_UNIT);
		return { type: "element", tagName, properties, children: [] };
	}

	/** Adds an element, and opens it if it can have content. */
	insert(tagName: string, properties: Properties, isClosed = VOID.has(tagName)): Element {
		const element = this.create(tagName, properties);
		this.append(element, this.current, !IN_TABLE.has(tagName));
		if (isClosed) return element;
		if (this.open.length >= MAX_DEPTH) throw tooDeep();
		this.open.push(element);
		if (FOREIGN.has(tagName)) this.#foreign++;
		if (MARKERS.has(tagName)) this.formatting.push(undefined);
		return element;
	}

	insertText(value: string, apart: boolean): void {
		const { parent, at } = this.#place(this.current, apart);
		const before = parent.children[at - 1];
		if (before?.type === "text") before.value += value;
		else parent.children.splice(at, 0, { type: "text", value });
	}

	append(element: Element, under: Element, apart = true): void {
		const { parent, at } = this.#place(under, apart);
		parent.children.splice(at, 0, element);
		this.#parents.set(element, parent);
	}

	move(element: Element, under: Element): void {
		const before = this.#parents.get(element);
		if (before) remove(before.children, element);
		this.append(element, under);
	}

	/** Moves the content of an element into another. */
	moveContent(from: Element, to: Element): void {
		to.children = from.children;
		from.children = [];
		for (const child of to.children) if (child.type === "element") this.#parents.set(child, to);
	}

	/** Where the next node goes. `apart`: before the open table, if `parent` is a part of it that cannot contain the node. */
	#place(parent: Element, apart: boolean): { parent: Element; at: number } {
		const table =
			apart && AROUND_CELLS.has(parent.tagName)
				? this.open.findLast(({ tagName }) => tagName === "table")
				: undefined;
		const outside = table && this.#parents.get(table);
		return table && outside
			? { parent: outside, at: outside.children.lastIndexOf(table) }
			: { parent, at: parent.children.length };
	}

	pop(): void {
		const element = this.open.pop();
		if (!element) return;
		const { tagName } = element;
		// It is not part of the page.
		if (tagName === "template") element.children = [];
		if (FOREIGN.has(tagName)) this.#foreign--;
		if (MARKERS.has(tagName)) this.formatting.length = this.formatting.lastIndexOf(undefined);
	}

	popTo(length: number): void {
		while (this.open.length > length) this.pop();
	}

	/** Ends elements until the current one has one of the names. */
	backTo(tags: Tags): void {
		while (!tags.has(this.current.tagName)) this.pop();
	}

	/** The position of the innermost element with one of the names, unless one of `scopes` is further inside. -1: none. */
	find(tags: Tags, scopes: Tags): number {
		const at = this.open.findLastIndex(({ tagName }) => tags.has(tagName) || scopes.has(tagName));
		return tags.has(this.open[at]?.tagName ?? "") ? at : -1;
	}

	/** Ends the element that `find` finds, and all inside it. */
	end(tags: Tags, scopes: Tags): void {
		const at = this.find(tags, scopes);
		if (at > 0) this.popTo(at);
	}
}

export function remove<Item>(list: Item[], item: Item): void {
	const at = list.lastIndexOf(item);
	if (at !== -1) list.splice(at, 1);
}

export function refuseDepth(nodes: Element["children"], depth = 1): void {
	if (nodes.length > 0 && depth > MAX_DEPTH) throw tooDeep();
	for (const node of nodes) if (node.type === "element") refuseDepth(node.children, depth + 1);
}

const tooDeep = (): ConversionFailure =>
	new ConversionFailure(`The HTML is nested deeper than ${MAX_DEPTH} elements`);
