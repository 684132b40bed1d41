/**
 * Ollama's `/api/chat` (https://github.com/ollama/ollama/blob/main/docs/api.md and `api/types.go`). It reads JSON into Go's types: unknown
 * fields are ignored, and a field of another type is refused. Images are plain base64, arguments of calls are objects.
 */
import * as z from "zod";
import { faultOf, fieldPath } from "./faults.ts";
import { bytesOf, type Host, idOf, Refusal, type Turn } from "./script.ts";

export const OLLAMA_MODEL = "gemma4:12b";

const Text = z.string().nullish();
const ToolFunction = z.looseObject({
	name: z.string(),
	description: Text,
	parameters: z
		.looseObject({
			type: Text,
			required: z.array(z.string()).nullish(),
			properties: z
				.record(
					z.string(),
					z.looseObject({
						type: z.union([z.string(), z.array(z.string())]).nullish(),
						description: Text,
						enum: z.array(z.unknown()).nullish(),
					}),
				)
				.nullish(),
		})
		.nullish(),
});
const Message = z.looseObject({
	role: z.string(),
	content: Text,
	thinking: Text,
	images: z.array(z.string()).nullish(),
	tool_calls: z
		.array(
			z.looseObject({
				id: Text,
				function: z.looseObject({
					name: z.string(),
					arguments: z.record(z.string(), z.unknown()),
				}),
			}),
		)
		.nullish(),
	tool_name: Text,
	tool_call_id: Text,
});
const integer = z.int().nullish();
const float = z.number().nullish();
const Body = z.looseObject({
	model: z.string(),
	messages: z.array(Message).nullish(),
	stream: z.boolean().nullish(),
	format: z.union([z.literal("json"), z.looseObject({})]).nullish(),
	think: z.union([z.boolean(), z.enum(["low", "medium", "high", "max"])]).nullish(),
	tools: z.array(z.looseObject({ type: Text, function: ToolFunction })).nullish(),
	logprobs: z.boolean().nullish(),
	top_logprobs: integer,
	options: z
		.looseObject({
			...{ num_ctx: integer, num_predict: integer, top_k: integer, seed: integer },
			...{ temperature: float, top_p: float, min_p: float, typical_p: float, repeat_penalty: float },
			...{ presence_penalty: float, frequency_penalty: float, stop: z.array(z.string()).nullish() },
		})
		.nullish(),
});

const refusal = (message: string, status = 400): Refusal => new Refusal(status, { error: message });

export const ollama: Host = ({ body, method, path }, script) => {
	if (`${method} ${path}` !== "POST /api/chat") throw new Refusal(404, { error: "404 page not found" });
	const { data, error } = Body.safeParse(body);
	if (!data) {
		const fault = faultOf(error);
		throw refusal(
			`json: cannot unmarshal into Go struct field ChatRequest.${fieldPath(fault)}: ${fault.message}`,
		);
	}
	if (data.model !== OLLAMA_MODEL) throw refusal(`model '${data.model}' not found`, 404);
	const turns = (data.messages ?? []).map(turnOf);
	const reply = script({
		model: data.model,
		turns,
		tools: (data.tools ?? []).map((tool) => tool.function.name),
		hosted: [],
		choice: "auto",
		json: data.format != null,
		stream: data.stream ?? true,
		maxTokens: data.options?.num_predict ?? undefined,
	});
	if (reply.kind !== "text") throw refusal("The script has a reply that this host does not write.", 500);
	const line = (message: object, fields: object) => ({
		...{ model: data.model, created_at: "2026-11-28T00:00:00Z", message: { role: "assistant", ...message } },
		...fields,
	});
	const end = { done: true, done_reason: "stop", prompt_eval_count: 20, eval_count: 2 };
	if (data.stream === false) return { json: line({ content: reply.pieces.join("") }, end) };
	const lines = [
		...reply.pieces.map((content) => line({ content }, { done: false })),
		line({ content: "" }, end),
	].map((each) => `${JSON.stringify(each)}\n`);
	return {
		events: (async function* () {
			yield* lines;
		})(),
	};
};

const ROLES = ["system", "user", "assistant", "tool"];

function turnOf(message: z.output<typeof Message>): Turn {
	const role = message.role.toLowerCase();
	if (!ROLES.includes(role))
		throw refusal(`invalid role: ${role}, must be one of ["system" "user" "assistant" "tool"]`);
	const images = (message.images ?? []).map((image) => {
		try {
			return bytesOf(image);
		} catch {
			throw refusal("illegal base64 data at input byte 4");
		}
	});
	return {
		role: role === "tool" ? "user" : (role as Turn["role"]),
		text: role === "tool" ? "" : (message.content ?? ""),
		images,
		calls: (message.tool_calls ?? []).map((call) => ({
			name: call.function.name,
			input: call.function.arguments,
		})),
		results:
			role === "tool" ? [{ name: message.tool_name ?? idOf("tool"), text: message.content ?? "" }] : [],
	};
}
