/** Converts what the caller sent to a task's input. A body that is not JSON becomes the input that it stands for. */
import { AiError } from "../core/errors.ts";
import type { Dialect, Reader, Writer } from "../dialects/dialect.ts";
import { parseMultipart } from "../dialects/media/multipart.ts";
import { validate } from "../dialects/validation/validation.ts";
import type { TaskCall } from "../tasks/task.ts";
import type { Inputs } from "./request.ts";
import type { ResolvedModel } from "./resolve-model.ts";

export interface Parsed {
	/** As the caller sent them, validated by the reader's schema. */
	inputs: unknown;
	call: TaskCall;
	writer: Writer;
}

/** Validates as Workers AI does if the route is `strict`; without a route, leniently. */
export function parse(
	sent: Inputs,
	dialect: Dialect | Promise<Dialect>,
	resolved: Pick<ResolvedModel, "model" | "routed">,
): Parsed | Promise<Parsed> {
	if (dialect instanceof Promise) return dialect.then((loaded) => parse(sent, loaded, resolved));
	const { reader, writer } = dialect;
	const { model, routed } = resolved;
	const strict = routed?.strict ?? false;
	refuseQueued(sent.fields);
	const read = (fields: unknown): Parsed => {
		const inputs = validate(reader.schema(model, strict), fields);
		return { inputs, call: reader.read(inputs as never, model, strict), writer };
	};
	return sent.body ? joinBody(sent, sent.body, reader).then(read) : read(sent.fields);
}

const QUEUE_FIELDS = ["requests", "request_id"] as const;

/** Fields of the product's asynchronous queue. Without this check the error would be a 5006 that names another field. */
function refuseQueued(fields: unknown): void {
	const record = asRecord(fields);
	const queued = QUEUE_FIELDS.find((name) => name in record);
	if (queued)
		throw new AiError(
			"invalidInput",
			`Invalid input: '${queued}' needs the asynchronous queue, which is not available`,
		);
}

async function joinBody(
	{ fields, query }: Inputs,
	body: NonNullable<Inputs["body"]>,
	reader: Reader,
): Promise<unknown> {
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
