/** Marks the sampling fields of a chat that the catalogue set: some engines must not receive them (`src/backends/own-models.ts`). */
import { isRecord } from "../core/json.ts";
import type { Model } from "../models/model.ts";
import type { TaskCall } from "../tasks/task.ts";
import type { DefaultedField } from "../tasks/text-generation/types.ts";

const FIELDS: Readonly<Record<DefaultedField, readonly string[]>> = {
	max_tokens: ["max_tokens", "max_completion_tokens", "max_output_tokens"],
	temperature: ["temperature"],
	top_p: ["top_p"],
	top_k: ["top_k"],
	seed: ["seed"],
	repetition_penalty: ["repetition_penalty"],
	frequency_penalty: ["frequency_penalty"],
	presence_penalty: ["presence_penalty"],
	logprobs: ["logprobs"],
};

/** `sent`: the fields as the caller sent them. `inputs`: after the schema, which adds the defaults. */
export function markDefaults(call: TaskCall, sent: unknown, inputs: unknown, { defaults }: Model): void {
	if (call.task !== "text-generation" || !isRecord(sent) || !isRecord(inputs)) return;
	const { input } = call;
	const names: DefaultedField[] = [];
	for (const name of Object.keys(defaults) as DefaultedField[]) {
		if (!Object.hasOwn(FIELDS, name) || input[name] !== defaults[name]) continue;
		let isSent = false;
		let isFilled = false;
		for (const field of FIELDS[name]) {
			isSent ||= (sent[field] ?? undefined) !== undefined;
			isFilled ||= inputs[field] !== undefined;
		}
		if (isFilled && !isSent) names.push(name);
	}
	if (names.length > 0) input.defaults = names;
}

/** A host that does not receive the catalogue's limit has its own. */
export function withoutDefaultLimit(call: TaskCall): TaskCall {
	if (call.task !== "text-generation" || !call.input.defaults?.includes("max_tokens")) return call;
	const { max_tokens: _, ...input } = call.input;
	return { ...call, input };
}
