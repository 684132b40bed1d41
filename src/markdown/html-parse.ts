/**
 * HTML text to a hast tree, by parse5, watched while it builds: the standard's own rules make millions of elements of
 * a few kilobytes (formatting that is never closed opens again in every paragraph), and what comes after recurses.
 */
import type { Nodes, Root } from "hast";
import { fromParse5 } from "hast-util-from-parse5";
import { type DefaultTreeAdapterMap, defaultTreeAdapter, parse, type TreeAdapter } from "parse5";
import { ConversionFailure, type Work } from "./work.ts";

/** Browsers stop at 512; pages that people write stay below 100. */
const MAX_DEPTH = 256;
/** An element written again for each of its formatting ancestors brings its attributes along. */
const ATTRIBUTES_PER_UNIT = 8;

export function parseHtml(text: string, work: Work): Root {
	const tree = fromParse5(parse(text, { treeAdapter: watched(work), scriptingEnabled: false }));
	if (tree.type !== "root") throw new TypeError(`parse5 gave a ${tree.type} for a document`);
	refuseDeep(tree);
	return tree;
}

function watched(work: Work): TreeAdapter<DefaultTreeAdapterMap> {
	let open = 0;
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
			if (++open > MAX_DEPTH) throw tooDeep();
		},
		onItemPop() {
			open--;
		},
	};
}

/** Mended formatting goes deeper than what was ever open at once. */
function refuseDeep(tree: Root): void {
	let level: Nodes[] = [tree];
	for (let depth = 0; level.length > 0; depth++) {
		if (depth > MAX_DEPTH) throw tooDeep();
		level = level.flatMap((node) => ("children" in node ? node.children : []));
	}
}

const tooDeep = (): ConversionFailure =>
	new ConversionFailure(`The HTML is nested deeper than ${MAX_DEPTH} elements`);
