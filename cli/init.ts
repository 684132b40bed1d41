/** Edits of a project, so that its `env.AI` is a local gateway in development: docs/local-binding.md. Pure. */
import { createTwoFilesPatch } from "diff";
import {
	createScanner,
	findNodeAtLocation,
	type JSONPath,
	type Node,
	type ParseError,
	parse,
	parseTree,
} from "jsonc-parser";
import * as z from "zod";
import { isAtLeast } from "../scripts/node-version.mjs";

const PACKAGE = "ganglion";
/** The product's bindings have names of variables (developers.cloudflare.com/workers/wrangler/configuration/#bindings). */
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
/** `SyntaxKind.CommaToken` of jsonc-parser, whose types declare it as a constant without a value at run time. */
const COMMA = 5;

const Wrangler = z.looseObject({
	ai: z.looseObject({ binding: z.string() }).optional(),
	unsafe: z
		.looseObject({
			bindings: z
				.array(
					z.looseObject({
						name: z.string(),
						type: z.string(),
						dev: z.looseObject({ plugin: z.looseObject({ package: z.string() }).optional() }).optional(),
					}),
				)
				.optional(),
		})
		.optional(),
});
const Manifest = z.looseObject({
	dependencies: z.record(z.string(), z.string()).optional(),
	devDependencies: z.record(z.string(), z.string()).optional(),
});

export class InitError extends Error {}

/** Adds the plugin block to a `wrangler.jsonc`. An `ai` block becomes a binding with the same name. Comments and formatting stay. */
export function withPlugin(text: string, binding?: string): string {
	const { ai, unsafe } = read(text, Wrangler, "wrangler.jsonc");
	const bindings = unsafe?.bindings ?? [];
	// Blocks of Vectorize and AI Search have other types.
	const own = bindings.filter(({ dev, type }) => type === "ai" && dev?.plugin?.package === PACKAGE);
	if (own.some(({ name }) => binding === undefined || name === binding)) return text;
	const name = binding ?? ai?.binding ?? "AI";
	if (!IDENTIFIER.test(name))
		throw new InitError(
			`--binding: expected a name of letters, digits, _ and $ that no digit begins, such as AI, found ${JSON.stringify(name)}`,
		);
	const existing = bindings.findIndex((one) => one.name === name);
	const other = bindings[existing];
	if (other && other.type !== "ai")
		throw new InitError(`the binding ${name} has the type ${other.type}: choose another name with --binding`);
	if (other?.dev?.plugin)
		throw new InitError(
			`the binding ${name} has the plugin ${other.dev.plugin.package}: choose another name with --binding`,
		);
	const plugin = { package: PACKAGE, name: PACKAGE };
	const isReplaced = ai?.binding === name;
	const block = { name, type: "ai", dev: { plugin } };
	if (other)
		return withoutAi(
			other.dev
				? append(text, ["unsafe", "bindings", existing, "dev"], "plugin", plugin)
				: append(text, ["unsafe", "bindings", existing], "dev", { plugin }),
			isReplaced,
		);
	if (unsafe?.bindings) return withoutAi(append(text, ["unsafe", "bindings"], undefined, block), isReplaced);
	if (unsafe) return withoutAi(append(text, ["unsafe"], "bindings", [block]), isReplaced);
	const added = { bindings: [block] };
	return isReplaced ? replaceAi(text, "unsafe", added) : append(text, [], "unsafe", added);
}

/** The letters and digits of a folder's name, with dashes between them: wrangler refuses a dash at the beginning. May be empty. */
export const workerName = (folder: string): string =>
	(folder.toLowerCase().match(/[a-z0-9]+/g) ?? []).join("-");

/** Adds the development dependency to a `package.json`. A present one stays. */
export function withDependency(text: string, version: string): string {
	const manifest = read(text, Manifest, "package.json");
	const { dependencies = {}, devDependencies = {} } = manifest;
	if (PACKAGE in dependencies || PACKAGE in devDependencies) return text;
	const changed = { ...manifest, devDependencies: { ...devDependencies, [PACKAGE]: version } };
	return `${JSON.stringify(changed, undefined, indentationIn(text))}\n`;
}

/** Wrangler's `engines`. */
const WRANGLER_NODE = [22, 12] as const;

/** A line about a Node that is too old for wrangler. Empty: it is not. `version`: as `process.versions.node`. */
export function nodeNote(version: string): string {
	if (isAtLeast(version, ...WRANGLER_NODE)) return "";
	return `\nwrangler needs Node ${WRANGLER_NODE.join(".")} or newer, and this is ${version}: install a newer one first.`;
}

/** A unified diff. Empty if nothing changes. */
export const diffOf = (file: string, before: string, after: string): string =>
	before === after
		? ""
		: createTwoFilesPatch(file, file, before, after, "", "", { context: 3 }).replace(/^=+\n/, "");

function read<T>(text: string, schema: z.ZodType<T>, file: string): T {
	const errors: ParseError[] = [];
	const value: unknown = parse(text, errors, { allowTrailingComma: true });
	const { data, error } = schema.safeParse(errors.length > 0 ? undefined : value);
	if (data === undefined)
		throw new InitError(
			`${file} ${errors.length > 0 ? "is not valid JSON" : `is not as expected: ${error?.issues[0]?.path.join(".")}`}`,
		);
	return data;
}

const indentationIn = (text: string): string => /^([\t ]+)"/m.exec(text)?.[1] ?? "\t";

/** The white space at the start of the line. */
const indentAt = (text: string, offset: number): string =>
	/^[\t ]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1))?.[0] ?? "";

const jsonAt = (text: string, value: unknown, indent: string): string =>
	JSON.stringify(value, undefined, indentationIn(text)).replaceAll("\n", `\n${indent}`);

function nodeAt(text: string, path: JSONPath): Node {
	const root = parseTree(text, [], { allowTrailingComma: true });
	const node = root && findNodeAtLocation(root, path);
	if (!node) throw new InitError(`wrangler.jsonc has no ${path.join(".")}`);
	return node;
}

const startsWithComma = (text: string): boolean => createScanner(text, true).scan() === COMMA;

/**
 * Adds the last member of an object, or the last element of an array (`name` is absent). All other text stays. (`modify` of
 * jsonc-parser formats the members around it, and deletes comments.)
 */
function append(text: string, path: JSONPath, name: string | undefined, value: unknown): string {
	const container = nodeAt(text, path);
	const close = container.offset + container.length - 1;
	const indent = indentAt(text, container.offset);
	const inner = indent + indentationIn(text);
	const member = `${name === undefined ? "" : `${JSON.stringify(name)}: `}${jsonAt(text, value, inner)}`;
	const last = container.children?.at(-1);
	const end = last ? last.offset + last.length : container.offset + 1;
	const comma = last && !startsWithComma(text.slice(end, close)) ? "," : "";
	const before = `${text.slice(0, end)}${comma}${text.slice(end, close).trimEnd()}`;
	return `${before}\n${inner}${member}\n${indent}${text.slice(close)}`;
}

/** Another member in the place of `ai`. */
function replaceAi(text: string, name: string, value: unknown): string {
	const { parent } = nodeAt(text, ["ai"]);
	if (!parent) return text;
	const { offset, length } = parent;
	const member = `${JSON.stringify(name)}: ${jsonAt(text, value, indentAt(text, offset))}`;
	return text.slice(0, offset) + member + text.slice(offset + length);
}

/** Without the member `ai`. A comma before it may stay: wrangler accepts it at the end of an object. */
function withoutAi(text: string, isReplaced: boolean): string {
	const { parent } = isReplaced ? nodeAt(text, ["ai"]) : {};
	if (!parent) return text;
	const after = text.slice(parent.offset + parent.length);
	const remaining = startsWithComma(after) ? after.slice(after.indexOf(",") + 1) : after;
	return text.slice(0, parent.offset).trimEnd() + remaining;
}
