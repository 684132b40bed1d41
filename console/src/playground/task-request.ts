/** The request of a form: the values that a person entered, as the API takes them. */
import { jsonRequest, pathOfModel } from "../api/client.ts";
import { apiValue } from "./example-input.ts";
import type { Field, Form } from "./fields.ts";
import { dataUrlOf } from "./file-field.tsx";
import { queryOf } from "./query.ts";
import type { Values } from "./values.ts";

export interface TaskRequest {
	/** Below the account. */
	path: string;
	init: RequestInit;
}

/** Throws an error with the name of a field that is not JSON. */
export async function taskRequest(model: string, form: Form, values: Values): Promise<TaskRequest> {
	const path = `/ai/run/${pathOfModel(model)}`;
	// The playground shows complete answers.
	const fields: Record<string, unknown> = form.streams ? { stream: false } : {};
	const files: [field: Field & { kind: "file" }, file: File][] = [];
	for (const field of form.fields) {
		const value = values[field.name];
		if (value === undefined || value === "") continue;
		if (field.kind === "file") {
			if (!(value instanceof File)) continue;
			files.push([field, value]);
		} else fields[field.name] = apiValue(field, value);
	}
	if (form.multipart) {
		const body = new FormData();
		for (const [name, value] of Object.entries(fields)) body.set(name, String(value));
		for (const [{ name }, file] of files) body.set(name, file);
		return { path, init: { method: "POST", body } };
	}
	const bodyFile = files.find(([{ encoding }]) => encoding === "body");
	if (bodyFile) {
		const query = queryOf(fields);
		const headers = { "content-type": bodyFile[1].type || "application/octet-stream" };
		return { path: `${path}?${query}`, init: { method: "POST", body: bodyFile[1], headers } };
	}
	for (const [{ name, encoding }, file] of files) {
		const address = await dataUrlOf(file);
		fields[name] =
			encoding === "bytes"
				? [...new Uint8Array(await file.arrayBuffer())]
				: encoding === "data-url"
					? address
					: address.slice(address.indexOf(",") + 1);
	}
	return { path, init: jsonRequest("POST", fields) };
}
