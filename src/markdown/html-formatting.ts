/**
 * Formatting of a page that is parsed (`b`, `i`, `a`, …): it opens again after a block that ended it, and its tags may end in any order.
 * The HTML standard has these rules in "Reconstruct the active formatting elements" and "The adoption agency algorithm".
 */
import type { Element } from "hast";
import { type OpenElements, remove } from "./html-elements.ts";
import { SCOPES, SPECIAL } from "./html-rules.ts";

/** Equal elements that open again, and elements that one end tag opens again. */
const MAX_REOPENED = 3;
/** Blocks that one end tag moves out of its element. */
const MAX_TURNS = 8;

/** Of more than three equal elements the first is forgotten. */
export function remember({ formatting }: OpenElements, element: Element): void {
	const [first, ...others] = recent(formatting).filter((one) => isEqual(one, element));
	if (first && others.length >= MAX_REOPENED - 1) remove(formatting, first);
	formatting.push(element);
}

const isEqual = ({ tagName, properties }: Element, other: Element): boolean => {
	const entries = Object.entries(properties);
	return (
		tagName === other.tagName &&
		entries.length === Object.keys(other.properties).length &&
		entries.every(([name, value]) => other.properties[name] === value)
	);
};

/** The formatting that may open again here. */
const recent = (formatting: OpenElements["formatting"]): Element[] =>
	formatting.slice(formatting.lastIndexOf(undefined) + 1).filter((one) => one !== undefined);

export function reopen(elements: OpenElements): void {
	const { formatting, open } = elements;
	const isOpen = (one: Element | undefined) => one === undefined || open.includes(one);
	for (let at = formatting.findLastIndex(isOpen) + 1; at < formatting.length; at++) {
		const closed = formatting[at];
		if (closed) formatting[at] = elements.insert(closed.tagName, { ...closed.properties });
	}
}

/** A link ends one that is open. */
export function endLink(elements: OpenElements): void {
	const link = recent(elements.formatting).findLast(({ tagName }) => tagName === "a");
	if (!link) return;
	endFormatting(elements, "a");
	remove(elements.formatting, link);
	remove(elements.open, link);
}

/** Blocks that started inside the formatting stay open, and their content so far keeps the formatting. */
export function endFormatting(elements: OpenElements, name: string): void {
	const { formatting, open } = elements;
	for (let turn = 0; turn < MAX_TURNS; turn++) {
		const element = recent(formatting).findLast(({ tagName }) => tagName === name);
		if (!element) {
			if (turn === 0) elements.end(new Set([name]), SPECIAL);
			return;
		}
		const start = open.lastIndexOf(element);
		if (start === -1) remove(formatting, element);
		if (start === -1 || open.slice(start).some(({ tagName }) => SCOPES.has(tagName))) return;
		const end = open.findIndex(({ tagName }, at) => at > start && SPECIAL.has(tagName));
		if (end === -1) {
			elements.popTo(start);
			remove(formatting, element);
			return;
		}
		moveOut(elements, start, end);
	}
}

/** Moves the block at `end` out of the formatting at `start`, and copies of the formatting into the block. */
function moveOut(elements: OpenElements, start: number, end: number): void {
	const { formatting, open } = elements;
	const [parent, element] = open.slice(start - 1);
	const block = open[end];
	if (!parent || !element || !block) return;
	const copy = ({ tagName, properties }: Element) => elements.create(tagName, { ...properties });
	let place = formatting.lastIndexOf(element);
	let last = block;
	for (const [turn, between] of open
		.slice(start + 1, end)
		.reverse()
		.entries()) {
		const listed = formatting.lastIndexOf(between);
		if (listed === -1 || turn >= MAX_REOPENED) {
			remove(open, between);
			remove(formatting, between);
			continue;
		}
		const copied = copy(between);
		open[open.lastIndexOf(between)] = copied;
		formatting[listed] = copied;
		if (last === block) place = listed + 1;
		elements.move(last, copied);
		last = copied;
	}
	elements.move(last, parent);
	const inside = copy(element);
	elements.moveContent(block, inside);
	elements.append(inside, block);
	formatting.splice(place, 0, inside);
	remove(formatting, element);
	remove(open, element);
	open.splice(open.lastIndexOf(block) + 1, 0, inside);
}
