/**
 * Compacts a conversation (`POST /responses/compact`): the model writes a summary. The result has the user's messages and one `compaction`
 * item, which replace the conversation in a later request. Nothing is stored.
 */
import { isRecord } from "../core/json.ts";
import type { InferenceRequest, Reply } from "../pipeline/request.ts";
import { newId } from "./ids.ts";
import { itemsIn, storedItem } from "./input.ts";
import { runOnce } from "./run-once.ts";
import { contextOf, engineFields } from "./run-stored.ts";
import type { ResponsesServices } from "./services.ts";
import { readStateful } from "./stateful-fields.ts";

export async function runCompaction(request: InferenceRequest, services: ResponsesServices): Promise<Reply> {
	const { fields } = request.inputs;
	if (!isRecord(fields)) return runOnce(request, services);
	const { stream: _, background: __, context_management: ___, ...own } = fields;
	const context = await contextOf(own, readStateful(own), request.caller, services);
	const complete = context ? engineFields(own, context) : own;
	const input = itemsIn(complete.input);
	const compacted = { ...complete, store: false, input: [...input, { type: "compaction_trigger" }] };
	const reply = await runOnce({ ...request, inputs: { ...request.inputs, fields: compacted } }, services);
	const { body } = reply;
	if (body.kind !== "json" || !isRecord(body.value)) return reply;
	const { created_at, output, usage } = body.value;
	const messages = input
		.filter(isRecord)
		.filter(({ type = "message", role }) => type === "message" && role === "user")
		.map((item) => JSON.parse(storedItem(item, services.uuid).json) as unknown);
	const value = {
		id: newId("resp", services.uuid),
		object: "response.compaction",
		created_at,
		output: [...messages, ...(Array.isArray(output) ? output : [])],
		usage,
	};
	return { ...reply, body: { kind: "json", value } };
}
