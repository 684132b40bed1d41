/** Reads inputs and writes outputs in one dialect, without the pipeline. */
import { expect } from "vitest";
import { AiError } from "../../src/core/errors.ts";
import type { Reader, Rendered, Writer } from "../../src/dialects/dialect.ts";
import { validate } from "../../src/dialects/validation/validation.ts";
import { PRODUCT_MODELS } from "../../src/models/catalog.ts";
import type { Model } from "../../src/models/model.ts";
import type { TaskAnswer, TaskCall, TaskName, TaskOutput } from "../../src/tasks/task.ts";

export function productModel(id: string): Model {
	const model = PRODUCT_MODELS.find((each) => each.id === id);
	if (!model) throw new Error(`no ${id} in the catalogue`);
	return model;
}

/** Writers read only the events. */
export const streamAnswer = (events: ReadableStream<Uint8Array>) =>
	({ kind: "stream", events, progress: { usage: undefined, outputTokens: 0 } }) as const;

export interface Read {
	model: Model;
	inputs: unknown;
	call: TaskCall;
}

export function read(reader: Reader, model: Model, sent: unknown): Read {
	const inputs = validate(reader.schema(model), sent);
	return { model, inputs, call: reader.read(inputs as never, model) };
}

/** The message of the 5006 error for refused inputs. */
export function refusal(reader: Reader, model: Model, sent: unknown): string {
	try {
		read(reader, model, sent);
	} catch (error) {
		if (!(error instanceof AiError)) throw error;
		expect(error.key).toBe("badInput");
		return error.description;
	}
	throw new Error("the inputs were accepted");
}

export function write<Name extends TaskName>(
	writer: Writer,
	parsed: Read,
	task: Name,
	output: TaskOutput<Name>,
): Rendered {
	const answer = { task, answer: { kind: "value", output } } as TaskAnswer;
	return writer.write(answer, {
		...parsed,
		now: 0,
		requestId: "request",
		uuid: () => "uuid",
		withCost: (usage) => usage,
	});
}
