/**
 * Small bugs, made from source text. Each mutant is one replacement in one file: a boundary moved by one, a condition
 * that is always or never true, a removed statement, a doubled constant. Pure: the same text gives the same mutants.
 *
 * Types are not mutated, because tests cannot find type errors.
 */
import { parseSync } from "vite";

export interface Mutant {
	/** Offsets of the replaced text, in UTF-16 units. */
	start: number;
	end: number;
	replacement: string;
	/** Line of the start, from 1. */
	line: number;
	/** The text that is replaced. */
	original: string;
}

/** The fields of a syntax tree's node that this file reads. */
interface Node {
	type: string;
	start: number;
	end: number;
	[field: string]: unknown;
}

const SWAPPED: Readonly<Record<string, string>> = {
	"<": "<=",
	"<=": "<",
	">": ">=",
	">=": ">",
	"===": "!==",
	"!==": "===",
	"+": "-",
	"-": "+",
	"*": "/",
	"/": "*",
	"%": "*",
	"&&": "||",
	"||": "&&",
	"+=": "-=",
	"-=": "+=",
};

/** Expressions that only add a type to another one. */
const TYPED_EXPRESSIONS: ReadonlySet<string> = new Set([
	"TSAsExpression",
	"TSSatisfiesExpression",
	"TSNonNullExpression",
]);

/** Statements that can be removed without a compile error. */
const REMOVABLE: ReadonlySet<string> = new Set([
	"ExpressionStatement",
	"ThrowStatement",
	"BreakStatement",
	"ContinueStatement",
]);

/** @param file the file's name, for the parser: `.ts`. Throws if the text cannot be parsed. */
export function mutantsOf(file: string, source: string): Mutant[] {
	const { program, errors } = parseSync(file, source);
	const [error] = errors;
	if (error) throw new Error(`${file}: ${error.message}`);
	const found: Mutant[] = [];
	const replace = (start: number, end: number, replacement: string): void => {
		const original = source.slice(start, end);
		const line = source.slice(0, start).split("\n").length;
		if (original !== replacement) found.push({ start, end, replacement, line, original });
	};
	visit(program as unknown as Node, (node) => mutate(node, source, replace));
	return found;
}

type Replace = (start: number, end: number, replacement: string) => void;

function mutate(node: Node, source: string, replace: Replace): void {
	switch (node.type) {
		case "BinaryExpression":
		case "LogicalExpression":
		case "AssignmentExpression": {
			const [left, right] = [node.left as Node, node.right as Node];
			const between = source.slice(left.end, right.start);
			const operator = String(node.operator);
			const swapped = SWAPPED[operator];
			const start = left.end + between.indexOf(operator);
			if (swapped) replace(start, start + operator.length, swapped);
			// A default that never applies.
			if (operator === "??") replace(left.end, node.end, "");
			break;
		}
		case "IfStatement":
		case "ConditionalExpression": {
			const test = node.test as Node;
			replace(test.start, test.end, "true");
			replace(test.start, test.end, "false");
			break;
		}
		case "UnaryExpression":
			if (node.operator === "!") replace(node.start, node.start + 1, "");
			break;
		case "Literal":
			if (typeof node.value === "number") replace(node.start, node.end, otherNumber(node.value));
			if (typeof node.value === "boolean") replace(node.start, node.end, String(!node.value));
			break;
		case "ReturnStatement":
			if (node.argument === null) replace(node.start, node.end, ";");
			break;
		default:
			// A string on its own is a directive.
			if (REMOVABLE.has(node.type) && typeof node.directive !== "string") replace(node.start, node.end, ";");
	}
}

/** Far enough from the value that a test of a limit fails. */
const otherNumber = (value: number): string => (value === 0 ? "1" : value === 1 ? "0" : String(value * 2));

function visit(node: Node, onNode: (node: Node) => void): void {
	if (node.type.startsWith("TS") && !TYPED_EXPRESSIONS.has(node.type)) return;
	onNode(node);
	for (const value of Object.values(node))
		for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, onNode);
}

const isNode = (value: unknown): value is Node =>
	typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
