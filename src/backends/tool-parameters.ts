/**
 * The schema of a tool's arguments for APIs that accept only an object with properties. OpenAI and Anthropic answer 400 to a schema
 * without `type: "object"`, OpenAI to one without `properties`, and both to `anyOf`, `oneOf` or `allOf` at the top, which generators
 * of schemas write for unions. The branches become one object: it accepts each of them, and possibly more.
 */
import { isRecord } from "../core/json.ts";
import { own } from "../core/own.ts";

type Schema = Record<string, unknown>;

const UNIONS = ["anyOf", "oneOf"] as const;
const REFERENCE = /^#\/(\$defs|definitions)\/([^/]+)$/;

export function objectSchema(sent: Schema = {}): Schema {
	const { anyOf: _, oneOf: _one, allOf, ...own } = sent;
	const choices = UNIONS.flatMap((name) => branchesIn(sent[name], sent));
	const all = branchesIn(allOf, sent);
	const branches = [...choices, ...all];
	if (branches.length === 0 && sent.type === "object" && isRecord(sent.properties)) return sent;
	const required = new Set([...requiredOf(own), ...all.flatMap(requiredOf)]);
	const [first, ...others] = choices;
	for (const name of first ? requiredOf(first) : [])
		if (others.every((branch) => requiredOf(branch).includes(name))) required.add(name);
	return {
		...own,
		type: "object",
		properties: mergedProperties([own, ...branches]),
		...(required.size > 0 && { required: [...required] }),
	};
}

/** The branches of a union that are objects, with their references to the root followed. */
function branchesIn(union: unknown, root: Schema): Schema[] {
	if (!Array.isArray(union)) return [];
	return union.flatMap((sent: unknown) => {
		const branch = referred(sent, root);
		return isRecord(branch) && (isRecord(branch.properties) || Array.isArray(branch.required))
			? [branch]
			: [];
	});
}

function referred(branch: unknown, root: Schema): unknown {
	const [, group = "", name = ""] = (isRecord(branch) && REFERENCE.exec(String(branch.$ref))) || [];
	const definitions = own(root, group);
	return isRecord(definitions) ? own(definitions, name) : branch;
}

const requiredOf = ({ required }: Schema): string[] =>
	Array.isArray(required) ? required.filter((name): name is string => typeof name === "string") : [];

/** A property that differs between branches has the schemas of all of them. */
function mergedProperties(schemas: readonly Schema[]): Schema {
	const variants = new Map<string, unknown[]>();
	for (const { properties } of schemas)
		for (const [name, schema] of Object.entries(isRecord(properties) ? properties : {})) {
			const known = variants.get(name) ?? [];
			const text = JSON.stringify(schema);
			if (!known.some((other) => JSON.stringify(other) === text)) known.push(schema);
			variants.set(name, known);
		}
	return Object.fromEntries(
		[...variants].map(([name, list]) => [name, list.length === 1 ? list[0] : { anyOf: list }]),
	);
}
