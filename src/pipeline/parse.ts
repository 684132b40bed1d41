/** What the caller sent, as a task's input: a body that is not JSON goes to the input it stands for. */

import { AiError } from "../core/errors.ts";
import type { Reader } from "../dialects/dialect.ts";
import { parseMultipart } from "../dialects/media/media.ts";
import { validate } from "../dialects/validation/validation.ts";
import type { Model } from "../models/model.ts";
import type { TaskCall } from "../tasks/task.ts";
import type { Inputs } from "./request.ts";

export async function parse(
	sent: Inputs,
	reader: Reader,
	{ model, strict = false }: { model: Model; strict?: boolean },
): Promise<{ inputs: unknown; call: TaskCall }> {
	refuseQueued(sent.fields);
	const inputs = validate(reader.schema(model, strict), await joinBody(sent, reader));
	return { inputs, call: reader.read(inputs as never, model, strict) };
}

/** What belongs to the product's asynchronous queue would otherwise end in a puzzling 5006. */
function refuseQueued(fields: unknown): void {
	const queued = ["requests", "request_id"].find((name) => name in asRecord(fields));
	if (queued)
		throw new AiError(
			"invalidInput",
			`Invalid input: '${queued}' needs the asynchronous queue, which is not available`,
		);
}

async function joinBody({ fields, body, query }: Inputs, reader: Reader): Promise<unknown> {
	if (!body) return fields;
	if (!reader.body)
		throw new AiError("badInput", `Error: a JSON body is expected, not '${body.contentType || "bytes"}'`);
	const { field, as } = reader.body;
	const others = { ...(reader.body.query && query), ...asRecord(fields) };
	if (as === "raw") return { ...others, [field]: body.bytes };
	const content = /^multipart\/form-data/i.test(body.contentType)
		? await parseMultipart(body.bytes, body.contentType)
		: body.bytes;
	return { ...others, [field]: { body: content, contentType: body.contentType } };
}

const asRecord = (fields: unknown): object => (typeof fields === "object" && fields !== null ? fields : {});
