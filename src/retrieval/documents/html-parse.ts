/**
 * Parses HTML with parse5 to a hast tree of its elements and texts. Properties have the names of the attributes in lower case, and
 * their values as written. Elements and depth are limited while the tree is built: by the HTML standard a
 * few kilobytes can become millions of elements (unclosed formatting reopens in every paragraph), and the later steps are
 * recursive.
 */
import type { Element, ElementContent, Root, Text } from "hast";
import {
	type DefaultTreeAdapterMap,
	type DefaultTreeAdapterTypes,
	defaultTreeAdapter,
	parse,
	type TreeAdapter,
} from "parse5";
import { ConversionFailure, type Work } from "./work.ts";

/** Browsers stop at 512; real pages stay below 100. */
const MAX_DEPTH = 256;
/** A reopened formatting element copies its attributes. */
const ATTRIBUTES_PER_UNIT = 8;

export function parseHtml(text: string, work: Work): Root {
	const { childNodes } = parse(text, { treeAdapter: limitingAdapter(work), scriptingEnabled: false });
	return { type: "root", children: contentOf(childNodes, 1) };
}

function limitingAdapter(work: Work): TreeAdapter<DefaultTreeAdapterMap> {
	let depth = 0;
	return {
		...defaultTreeAdapter,
		createElement(tagName, namespace, attributes) {
			work.spend(1 + attributes.length / ATTRIBUTES_PER_UNIT);
			return defaultTreeAdapter.createElement(tagName, namespace, attributes);
		},
		createCommentNode(data) {
			work.spend(1);
			return defaultTreeAdapter.createCommentNode(data);
		},
		onItemPush() {
			if (++depth > MAX_DEPTH) throw tooDeep();
		},
		onItemPop() {
			depth--;
		},
	};
}

/** Checks the depth of the finished tree too: reopened formatting can be deeper than the stack of open elements ever was. */
function contentOf(nodes: readonly DefaultTreeAdapterTypes.ChildNode[], depth: number): ElementContent[] {
	if (nodes.length > 0 && depth > MAX_DEPTH) throw tooDeep();
	return nodes.flatMap((node): (Element | Text)[] => {
		if (defaultTreeAdapter.isTextNode(node)) return [{ type: "text", value: node.value }];
		if (!defaultTreeAdapter.isElementNode(node)) return [];
		const attributes = node.attrs.map(({ prefix, name, value }): [string, string] => [
			(prefix ? `${prefix}:${name}` : name).toLowerCase(),
			value,
		]);
		return [
			{
				type: "element",
				tagName: node.tagName,
				properties: Object.fromEntries(attributes),
				children: contentOf(node.childNodes, depth + 1),
			},
		];
	});
}

const tooDeep = (): ConversionFailure =>
	new ConversionFailure(`The HTML is nested deeper than ${MAX_DEPTH} elements`);
