/** A plugin of rolldown: each function of the gateway records its name when it is entered. */
import { relative } from "node:path";
import type { Plugin } from "rolldown";
import { parseAst } from "rolldown/parseAst";
import { ENTERED } from "./entered.ts";

/** A node of ESTree. Its other properties are nodes, lists of nodes, or values. */
interface Node {
	type: string;
	start: number;
	end: number;
	[property: string]: unknown;
}

interface Insertion {
	at: number;
	text: string;
}

const isNode = (value: unknown): value is Node =>
	typeof value === "object" && value !== null && typeof (value as Node).type === "string";

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

/** Instruments the TypeScript files below the folder. */
export const instrument = (sources: string): Plugin => ({
	name: "instrument",
	transform: {
		filter: { id: /\.ts$/ },
		handler(code, id) {
			if (!id.startsWith(`${sources}/`)) return undefined;
			// No debugger reads the map of this build.
			return { code: instrumented(code, relative(sources, id)), map: { mappings: "" } };
		},
	},
});

/** The source with a statement at the beginning of each function that records `file:line:column name`. */
export function instrumented(code: string, file: string): string {
	const insertions: Insertion[] = [];
	visit(parseAst(code, { lang: "ts" }, file) as unknown as Node, undefined, (node, name) => {
		const { body } = node;
		if (!FUNCTIONS.has(node.type) || !isNode(body)) return;
		const lines = code.slice(0, node.start).split("\n");
		const place = `${file}:${lines.length}:${(lines.at(-1) ?? "").length + 1}`;
		const record = `globalThis.${ENTERED}?.add(${JSON.stringify(`${place} ${name ?? "anonymous"}`)})`;
		if (body.type === "BlockStatement") insertions.push({ at: body.start + 1, text: `${record};` });
		else insertions.push({ at: body.start, text: `(${record},(` }, { at: body.end, text: "))" });
	});
	return insertions
		.sort((one, other) => other.at - one.at)
		.reduce((text, { at, text: inserted }) => text.slice(0, at) + inserted + text.slice(at), code);
}

function visit(
	node: Node,
	name: string | undefined,
	found: (node: Node, name: string | undefined) => void,
): void {
	const own = nameIn(node.id) ?? nameIn(node.key) ?? nameIn(node.left) ?? name;
	found(node, own);
	for (const value of Object.values(node))
		for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, own, found);
}

const nameIn = (id: unknown): string | undefined =>
	isNode(id) && typeof id.name === "string" ? id.name : undefined;
