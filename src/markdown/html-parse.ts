/**
 * Parses HTML to a hast tree with parse5. Elements and depth are limited while the tree is built: by the HTML standard a
 * few kilobytes can become millions of elements (unclosed formatting reopens in every paragraph), and the later steps are
 * recursive.
 */
import type { Nodes, Root } from "hast";
import { fromParse5 } from "hast-util-from-parse5";
import { type DefaultTreeAdapterMap, defaultTreeAdapter, parse, type TreeAdapter } from "parse5";
import { ConversionFailure, type Work } from "./work.ts";

/** Browsers stop at 512; real pages stay below 100. */
const MAX_DEPTH = 256;
/** A reopened formatting element copies its attributes. */
const ATTRIBUTES_PER_UNIT = 8;

export function parseHtml(text: string, work: Work): Root {
	const tree = fromParse5(parse(text, { treeAdapter: limitingAdapter(work), scriptingEnabled: false }));
	if (tree.type !== "root") throw new TypeError(`parse5 gave a ${tree.type} for a document`);
	refuseDeep(tree);
	return tree;
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

/** Checks the finished tree too: reopened formatting can be deeper than the stack of open elements ever was. */
function refuseDeep(tree: Root): void {
	let level: Nodes[] = [tree];
	for (let depth = 0; level.length > 0; depth++) {
		if (depth > MAX_DEPTH) throw tooDeep();
		level = level.flatMap((node) => ("children" in node ? node.children : []));
	}
}

const tooDeep = (): ConversionFailure =>
	new ConversionFailure(`The HTML is nested deeper than ${MAX_DEPTH} elements`);
