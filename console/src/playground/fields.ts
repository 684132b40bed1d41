/** The fields of a form, from the schema of a model's input. */
import type { JsonSchema } from "../api/types.ts";
import { exampleField, formsOf } from "../models/example.ts";

/** How the API takes a file: as an array of bytes, as base64, as a `data:` address, or as the body of the request. */
export type FileEncoding = "bytes" | "base64" | "data-url" | "body";

interface Common {
	name: string;
	required: boolean;
	/** An example of a required field, as a person enters it. */
	example?: string;
	/** An example of a call has this field. Without required fields, some of the others. */
	suggested: boolean;
	/** The value if the field is left empty. */
	default?: unknown;
}

export type Field = Common &
	(
		| { kind: "text" }
		/** Several lines. */
		| { kind: "long" }
		/** A text for each line. */
		| { kind: "lines"; item: "text" | "object" }
		| { kind: "number"; integer: boolean; min?: number | undefined; max?: number | undefined }
		| { kind: "boolean" }
		| { kind: "choice"; choices: string[] }
		| { kind: "file"; encoding: FileEncoding; accept: string }
		| { kind: "json" }
	);

export interface Form {
	/** Of the required fields. */
	title: string;
	fields: Field[];
	/** The request is a form of its own fields, not JSON. */
	multipart: boolean;
	/** The request may be the file alone. */
	raw: boolean;
	/** The model can stream its answer. */
	streams: boolean;
}

const LONG: ReadonlySet<string> = new Set(["prompt", "text", "query", "question", "state", "input_text"]);
const FILES: Readonly<Record<string, string>> = {
	audio: "audio/*",
	image: "image/*",
	image_b64: "image/*",
	mask: "image/*",
};
/** These fields only concern formats of the answer that the playground does not show. */
const LEFT_OUT: ReadonlySet<string> = new Set(["stream", "lora"]);

/** The fields of FLUX.2, whose schema has only the form as a whole. */
const MULTIPART: readonly Field[] = [
	{ name: "prompt", kind: "long", required: true, example: "A lighthouse in the fog", suggested: true },
	{
		name: "input_image_0",
		kind: "file",
		encoding: "body",
		accept: "image/*",
		required: false,
		suggested: false,
	},
	{ name: "steps", kind: "number", integer: true, required: false, suggested: false },
	{ name: "width", kind: "number", integer: true, required: false, suggested: false },
	{ name: "height", kind: "number", integer: true, required: false, suggested: false },
	{ name: "seed", kind: "number", integer: true, required: false, suggested: false },
];

/** In a form without required fields, these are the example. */
const SUGGESTED: ReadonlySet<string> = new Set(["text", "image", "question"]);

export function taskForms(input: JsonSchema): Form[] {
	const branches = input.oneOf ?? input.anyOf ?? [];
	const raw = branches.some(({ type, format }) => type === "string" && format === "binary");
	return formsOf(input).map((form) => formOf(form, raw));
}

function formOf({ properties = {}, required = [] }: JsonSchema, raw: boolean): Form {
	if (properties.multipart)
		return { title: "prompt", fields: [...MULTIPART], multipart: true, raw: false, streams: false };
	const isSuggested = (name: string): boolean =>
		required.length > 0 ? required.includes(name) : SUGGESTED.has(name);
	const fields = Object.entries(properties)
		.filter(([name]) => !LEFT_OUT.has(name))
		.map(([name, schema]) => ({
			...fieldOf(name, schema, required.includes(name)),
			suggested: isSuggested(name),
			...(isSuggested(name) && { example: entered(exampleField(name, properties)) }),
		}));
	return {
		title: required.join(", ") || "input",
		fields,
		multipart: false,
		raw,
		streams: properties.stream !== undefined,
	};
}

/** An example as text of the form. */
function entered(example: unknown): string {
	if (typeof example === "string") return example;
	if (!Array.isArray(example)) return JSON.stringify(example);
	return example.map((item) => (typeof item === "string" ? item : (Object(item).text ?? ""))).join("\n");
}

function fieldOf(name: string, schema: JsonSchema, required: boolean): Field {
	const common = {
		name,
		required,
		suggested: required,
		...(schema.default !== undefined && { default: schema.default }),
	};
	const branches = schema.anyOf ?? schema.oneOf ?? [schema];
	const types = branches.flatMap(({ type }) => type ?? []).filter((type) => type !== "null");
	const has = (type: string): boolean => types.includes(type);
	const array = branches.find(({ type }) => type === "array");
	const accept = FILES[name];
	if (accept !== undefined) {
		const encoding = fileEncoding(name, branches);
		if (encoding) return { ...common, kind: "file", encoding, accept };
	}
	const choices = branches.find((branch) => branch.enum)?.enum;
	if (choices) return { ...common, kind: "choice", choices: choices.map(String) };
	if (array) {
		if (array.items?.type === "string") return { ...common, kind: "lines", item: "text" };
		if (array.items?.properties?.text) return { ...common, kind: "lines", item: "object" };
		return { ...common, kind: "json" };
	}
	if (has("boolean")) return { ...common, kind: "boolean" };
	if (has("integer") || has("number")) {
		const { minimum: min, maximum: max } = branches.find(({ type }) => type !== "null") ?? {};
		return { ...common, kind: "number", integer: !has("number"), min, max };
	}
	if (has("string") || name === "state") return { ...common, kind: LONG.has(name) ? "long" : "text" };
	return { ...common, kind: "json" };
}

function fileEncoding(name: string, branches: readonly JsonSchema[]): FileEncoding | undefined {
	if (branches.some(({ type, items }) => type === "array" && items?.type === "integer")) return "bytes";
	if (branches.some(({ properties }) => properties?.body)) return "body";
	if (!branches.some(({ type }) => type === "string")) return undefined;
	return name === "image" ? "data-url" : "base64";
}
