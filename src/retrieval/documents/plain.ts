/** Writes a Markdown tree as plain text without markup: a blank line between blocks, one line per list item. */
import type { Nodes, Root } from "mdast";

export function plainText(tree: Root): string {
	const text = blocks(tree.children);
	return text === "" ? "" : `${text}\n`;
}

const blocks = (nodes: readonly Nodes[]): string => join(nodes, "\n\n", block);
const lines = (nodes: readonly Nodes[]): string => join(nodes, "\n", block);
const join = (nodes: readonly Nodes[], separator: string, write: (node: Nodes) => string): string =>
	nodes
		.map(write)
		.filter((text) => text !== "")
		.join(separator);

function block(node: Nodes): string {
	switch (node.type) {
		case "list":
		case "listItem":
			return lines(node.children);
		case "table":
			return node.children
				.map((row) => row.children.map((cell) => inline(cell).trim()).join("\t"))
				.filter((row) => row.trim() !== "")
				.join("\n");
		case "root":
		case "blockquote":
			return blocks(node.children);
		default:
			return inline(node).trim();
	}
}

function inline(node: Nodes): string {
	switch (node.type) {
		case "break":
			return "\n";
		case "html":
			return node.value === "<br>" ? " " : "";
		case "image":
			return node.alt ?? "";
		default:
			if ("value" in node) return node.value;
			return "children" in node ? node.children.map(inline).join("") : "";
	}
}
