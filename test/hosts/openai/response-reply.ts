/** Writes replies of the Responses API, complete and streamed. */
import {
	callsOf,
	deltasOf,
	type HostReply,
	idOf,
	inputTokensOf,
	pageOf,
	type Reply,
	textOf,
} from "../script.ts";
import { halvesOf } from "./chat-reply.ts";
import { sealedSummary, sealOf } from "./response-items.ts";
import { callItem, type OfferedTools } from "./response-tools.ts";

const usageOf = (reply: Reply) => ({
	input_tokens: inputTokensOf(reply),
	input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
	output_tokens: 9,
	output_tokens_details: { reasoning_tokens: 4 },
	total_tokens: inputTokensOf(reply) + 9,
});

export interface ResponseOptions {
	model: string;
	stream: boolean;
	/** The model reasons. `sealed`: its reasoning comes back encrypted. `summary`: with a summary. */
	reasoning?: { sealed: boolean; summary: boolean } | undefined;
	tools: OfferedTools;
	/** The reply is a summary, encrypted. */
	compacts?: boolean;
	/** Fields of the request that the response repeats. */
	echo: object;
}

type Item = { id: string; type: string; status?: string } & Record<string, unknown>;

export const SUMMARY = "The user wants an answer.";

export function responseReply(
	reply: Exclude<Reply, { kind: "failure" }>,
	options: ResponseOptions,
): HostReply {
	if (options.stream) return { events: eventsOf(reply, options) };
	const reasoning = reasoningItem(options);
	const output = [
		...(reasoning ? [reasoning] : []),
		...searchItems(reply),
		...(reply.kind === "tools" ? [] : [textItem(reply, options)]),
		...callsOf(reply).map((call) => callItem(call, options.tools).item),
	];
	return { json: responseOf(reply, options, "completed", output) };
}

const responseOf = (
	reply: Reply,
	{ echo, model }: ResponseOptions,
	status: string,
	output: readonly Item[],
) => ({
	id: idOf("resp_"),
	object: "response",
	created_at: 1_795_262_400,
	status,
	background: false,
	error: null,
	incomplete_details: null,
	instructions: null,
	max_output_tokens: null,
	model,
	output,
	parallel_tool_calls: true,
	previous_response_id: null,
	temperature: null,
	text: { format: { type: "text" }, verbosity: "medium" },
	tool_choice: "auto",
	tools: [],
	top_p: null,
	truncation: "disabled",
	metadata: {},
	...echo,
	usage: status === "completed" ? usageOf(reply) : null,
});

function reasoningItem({ model, reasoning }: ResponseOptions): Item | undefined {
	if (!reasoning) return undefined;
	return {
		id: idOf("rs_"),
		type: "reasoning",
		summary: reasoning.summary ? [{ type: "summary_text", text: SUMMARY }] : [],
		...(reasoning.sealed && { encrypted_content: sealOf(model) }),
	};
}

const messageItem = (text: string): Item => ({
	id: idOf("msg_"),
	type: "message",
	status: "completed",
	role: "assistant",
	phase: "final_answer",
	content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
});

const textItem = (reply: Reply, { compacts }: ResponseOptions): Item =>
	compacts
		? { id: idOf("cmp_"), type: "compaction", encrypted_content: sealedSummary(textOf(reply)) }
		: messageItem(textOf(reply));

/** The host's own search. */
const searchItems = (reply: Reply): Item[] =>
	reply.kind === "search"
		? [
				{
					id: idOf("ws_"),
					type: "web_search_call",
					status: "completed",
					action: {
						type: "search",
						query: reply.query,
						sources: [{ type: "url", url: pageOf(reply.query).url }],
					},
				},
			]
		: [];

async function* eventsOf(
	reply: Exclude<Reply, { kind: "failure" }>,
	options: ResponseOptions,
): AsyncGenerator<string> {
	let sequence_number = 0;
	const event = (type: string, fields: object): string =>
		`event: ${type}\ndata: ${JSON.stringify({ type, ...fields, sequence_number: sequence_number++ })}\n\n`;
	const output: Item[] = [];
	const response = responseOf(reply, options, "in_progress", []);
	yield event("response.created", { response });
	yield event("response.in_progress", { response });
	const reasoning = reasoningItem(options);
	if (reasoning) {
		const place = { item_id: reasoning.id, output_index: 0, summary_index: 0 };
		// The encrypted content is complete only in the last event of the item.
		const opened = {
			...reasoning,
			summary: [],
			...(reasoning.encrypted_content ? { encrypted_content: "" } : {}),
		};
		yield event("response.output_item.added", { output_index: 0, item: opened });
		if (options.reasoning?.summary) {
			const part = { type: "summary_text", text: SUMMARY };
			yield event("response.reasoning_summary_part.added", { ...place, part: { ...part, text: "" } });
			yield event("response.reasoning_summary_text.delta", { ...place, delta: SUMMARY, obfuscation: "x" });
			yield event("response.reasoning_summary_text.done", { ...place, text: SUMMARY });
			yield event("response.reasoning_summary_part.done", { ...place, part });
		}
		yield event("response.output_item.done", { output_index: 0, item: reasoning });
		output.push(reasoning);
	}
	for (const item of searchItems(reply)) {
		const place = { item_id: item.id, output_index: output.length };
		yield event("response.output_item.added", {
			output_index: output.length,
			item: { ...item, status: "in_progress" },
		});
		for (const step of ["in_progress", "searching", "completed"])
			yield event(`response.web_search_call.${step}`, place);
		yield event("response.output_item.done", { output_index: output.length, item });
		output.push(item);
	}
	if (options.compacts) {
		const item = textItem(reply, options);
		yield event("response.output_item.added", { output_index: output.length, item });
		yield event("response.output_item.done", { output_index: output.length, item });
		output.push(item);
	} else if (reply.kind === "tools")
		for await (const delta of deltasOf(reply)) {
			if (delta.kind !== "call") continue;
			const { item, part } = callItem(delta, options.tools);
			const place = { item_id: item.id, output_index: output.length };
			yield event("response.output_item.added", {
				output_index: output.length,
				item: { ...item, status: "in_progress", ...(part && { [part]: "" }) },
			});
			if (part) {
				const name = part === "input" ? "custom_tool_call_input" : "function_call_arguments";
				const text = String(item[part]);
				for (const half of halvesOf(text))
					yield event(`response.${name}.delta`, { ...place, delta: half, obfuscation: "x" });
				yield event(`response.${name}.done`, { ...place, [part]: text });
			}
			yield event("response.output_item.done", { output_index: output.length, item });
			output.push(item);
		}
	else {
		const item = messageItem("");
		const place = { item_id: item.id, output_index: output.length, content_index: 0 };
		const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
		yield event("response.output_item.added", {
			output_index: output.length,
			item: { ...item, status: "in_progress", content: [] },
		});
		yield event("response.content_part.added", { ...place, part });
		let text = "";
		for await (const delta of deltasOf(reply)) {
			if (delta.kind !== "text") continue;
			text += delta.text;
			yield event("response.output_text.delta", {
				...place,
				delta: delta.text,
				logprobs: [],
				obfuscation: "x",
			});
		}
		yield event("response.output_text.done", { ...place, text, logprobs: [] });
		yield event("response.content_part.done", { ...place, part: { ...part, text } });
		const whole = { ...item, content: [{ ...part, text }] };
		yield event("response.output_item.done", { output_index: output.length, item: whole });
		output.push(whole);
	}
	const { id } = response;
	yield event("response.completed", { response: { ...responseOf(reply, options, "completed", output), id } });
}
