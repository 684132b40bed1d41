/** The call of the examples, and its input from a form: values as the API takes them, and the files by their names. */
import type { JsonSchema } from "../api/types.ts";
import { exampleInput, formsOf, shortName } from "../models/example.ts";
import { type Field, type FileEncoding, type Form, taskForms } from "./fields.ts";
import type { Values } from "./values.ts";

export interface ExampleFile {
	field: string;
	/** As on the caller's disk. */
	name: string;
	type: string;
	encoding: FileEncoding;
}

export interface ExampleInput {
	fields: Record<string, unknown>;
	files: readonly ExampleFile[];
	/** The request is a form of its own fields, not JSON. */
	multipart?: boolean;
	/** The request may be the file alone. */
	raw?: boolean;
	/** The voice that a request without one gets. */
	voice?: string;
}

/** An input, with the gateway and the model that it is sent to. */
export interface ExampleCall extends ExampleInput {
	model: string;
	/** The name of the model's task. */
	task: string;
	/** The origin of the gateway. */
	origin: string;
	account: string;
	/** The type of an answer that is a file. */
	answerType?: string;
	/** The gateway takes no credentials. */
	open?: boolean;
	/** The model transcribes a websocket. */
	live?: boolean;
}

/** `absent`: why the client has no such call. */
export type CallExample = { title: string } & ({ text: string } | { absent: string });

export const baseUrl = ({ origin, account }: ExampleCall): string =>
	`${origin}/client/v4/accounts/${account}/ai`;

const EXAMPLE_FILES: Readonly<Record<string, { name: string; type: string }>> = {
	"audio/*": { name: "speech.wav", type: "audio/wav" },
	"image/*": { name: "photo.png", type: "image/png" },
};
/** A mask has the size of its image. */
const MASK = { name: "mask.png", type: "image/png" };

/** Throws an error with the name of a field that is not JSON. */
export function inputOfForm(form: Form, values: Values): ExampleInput {
	// The playground shows complete answers.
	const fields: Record<string, unknown> = form.streams ? { stream: false } : {};
	const files: ExampleFile[] = [];
	for (const field of form.fields) {
		const value = values[field.name];
		if (field.kind === "file") {
			const file = value instanceof File ? value : field.suggested ? exampleFile(field) : undefined;
			if (!file) continue;
			const type = file.type || "application/octet-stream";
			files.push({ field: field.name, name: file.name, type, encoding: field.encoding });
		} else if (value !== undefined && value !== "") fields[field.name] = apiValue(field, value);
	}
	const voice = form.fields.find(({ name }) => name === "speaker")?.default;
	return {
		fields,
		files,
		multipart: form.multipart,
		raw: form.raw,
		...(typeof voice === "string" && { voice }),
	};
}

/** The example of a model's preferred form. */
export function inputOfSchema(schema: JsonSchema, model: string): ExampleInput {
	const forms = taskForms(schema);
	const form = forms.find(({ fields }) => fields.some(({ name }) => name === "text")) ?? forms[0];
	const isChat = formsOf(schema).some(({ properties }) => properties?.messages);
	if (isChat || !form) return { fields: exampleInput(schema, model), files: [] };
	return inputOfForm(form, exampleValues([form], model));
}

/** Examples of the required fields, so that a form of texts runs with one click. */
export const exampleValues = (forms: readonly Form[], model: string): Values =>
	Object.fromEntries(
		forms
			.flatMap(({ fields }) => fields)
			.filter(({ kind, example }) => kind !== "file" && example !== undefined)
			.map(({ name, example }) => [name, name === "model" ? shortName(model) : example]),
	);

const exampleFile = ({ name, accept }: Field & { kind: "file" }) =>
	name === "mask" ? MASK : EXAMPLE_FILES[accept];

export function apiValue(field: Field, value: string | boolean | File): unknown {
	if (typeof value !== "string") return value;
	switch (field.kind) {
		case "number":
			return Number(value);
		case "lines": {
			const lines = value.split("\n").filter((line) => line.trim() !== "");
			return field.item === "object" ? lines.map((text) => ({ text })) : lines;
		}
		case "json":
			try {
				return JSON.parse(value);
			} catch {
				throw new Error(`${field.name}: expected JSON`);
			}
		default:
			return value;
	}
}
