/**
 * A planned request as it is asked, and what the gateway's own code makes of it: the call, what must be reserved for
 * it, and what it must cost by what of its answer passed.
 */
import { StreamProgress } from "../src/backends/progress.ts";
import { configure } from "../src/config.ts";
import { openaiChat } from "../src/dialects/chat/openai-route.ts";
import type { Dialect } from "../src/dialects/dialect.ts";
import { nativeDialect } from "../src/dialects/index.ts";
import { anthropicMessages } from "../src/dialects/messages/messages.ts";
import { responses } from "../src/dialects/responses/responses.ts";
import { openaiEmbeddings } from "../src/dialects/text/openai-embeddings.ts";
import { measure, measureStream } from "../src/metering/measure.ts";
import type { Model } from "../src/models/model.ts";
import { microNeurons } from "../src/models/neurons.ts";
import type { Worth } from "../src/objects/admission.ts";
import { admission, limitsOf } from "../src/pipeline/admit.ts";
import { parse } from "../src/pipeline/parse.ts";
import type { TaskCall } from "../src/tasks/task.ts";
import type { ChatCompletion } from "../src/tasks/text-generation.ts";
import { type Door, eventText, type Planned } from "./plan.ts";

export interface Question {
	/** Below the account's `…/ai`. */
	path: string;
	body: Record<string, unknown>;
	model: Model;
	call: TaskCall;
	worth: Worth;
	/** Micro-neurons, where a budget has room for all. */
	reserved: number;
}

/** What a ledger must say of a request. */
export interface Bill {
	inputTokens: number;
	cachedTokens: number;
	outputTokens: number;
	estimated: boolean;
	microNeurons: number;
}

const NATIVE = "@cf/meta/llama-3.1-8b-instruct";
export const MODEL_OF: Record<Door, string> = {
	native: NATIVE,
	chat: "soak/chat",
	responses: "soak/chat",
	messages: "soak/chat",
	ollama: "soak/ollama",
	pair: "soak/pair",
	embed: "soak/embed",
};

const PRICES = [
	{ unit: "per M input tokens", neurons: 20_000 },
	{ unit: "per M cached input tokens", neurons: 2_000 },
	{ unit: "per M output tokens", neurons: 130_001 },
];
const CHAT_MODEL = { task: "Text Generation", context_window: 131_072, prices: PRICES };
export const MODELS = {
	"soak/chat": CHAT_MODEL,
	"soak/ollama": CHAT_MODEL,
	"soak/pair": CHAT_MODEL,
	"soak/embed": { task: "Text Embeddings", prices: [{ unit: "per M input tokens", neurons: 15_000 }] },
};

const { catalog, limits } = configure({ MODELS });

const DIALECTS: Record<Door, (model: Model) => Dialect> = {
	native: nativeDialect,
	chat: () => openaiChat,
	responses: () => responses,
	messages: () => anthropicMessages,
	ollama: () => openaiChat,
	pair: () => openaiChat,
	embed: () => openaiEmbeddings,
};

/** Questions of one run: no two of one account and model may be worth the same, so that a row tells whose it is. */
export class Questions {
	readonly #taken = new Set<string>();

	async put(planned: Planned): Promise<Question> {
		for (let padding = 0; ; padding++) {
			const question = await questionOf(planned, planned.prompt + "·".repeat(padding));
			const key = `${planned.account} ${question.model.id} ${question.reserved}`;
			if (this.#taken.has(key)) continue;
			this.#taken.add(key);
			return question;
		}
	}
}

async function questionOf(planned: Planned, prompt: string): Promise<Question> {
	const { door } = planned;
	const model = catalog.find(MODEL_OF[door]);
	if (!model) throw new Error(`no model ${MODEL_OF[door]}`);
	const { path, body } = asked(planned, prompt);
	const { call } = await parse({ fields: body }, DIALECTS[door](model).reader, { model });
	const { worth } = await admission("", { kind: "operator" }, model, call, limitsOf(limits, ""));
	return { path, body, model, call, worth, reserved: reservedFor(worth, worth.outputTokens) };
}

function asked({ door, maxTokens, stream, usage }: Planned, prompt: string): Pick<Question, "path" | "body"> {
	const model = MODEL_OF[door];
	const messages = [{ role: "user", content: prompt }];
	const limit = maxTokens === undefined ? {} : { max_tokens: maxTokens };
	switch (door) {
		case "native":
			return { path: `/run/${model}`, body: { messages, stream, ...limit } };
		case "responses":
			return {
				path: "/v1/responses",
				body: { model, input: prompt, stream, ...(maxTokens && { max_output_tokens: maxTokens }) },
			};
		case "messages":
			return { path: "/v1/messages", body: { model, messages, stream, ...limit } };
		case "embed":
			return { path: "/v1/embeddings", body: { model, input: [prompt] } };
		default:
			return {
				path: "/v1/chat/completions",
				body: {
					model,
					messages,
					stream,
					...limit,
					...(stream && usage === "end" && { stream_options: { include_usage: true } }),
				},
			};
	}
}

/** Micro-neurons, where the output is granted as far as that. */
export const reservedFor = (
	{ fixedMicroNeurons, microNeuronsPerOutputToken }: Worth,
	outputTokens: number,
): number => Math.ceil(fixedMicroNeurons + microNeuronsPerOutputToken * outputTokens);

/** What of an answer passed; `whole`: all, and its end. */
export interface Passed {
	events: number;
	whole: boolean;
	/** Tokens of output that the engine was asked to keep to. */
	maxTokens: number;
}

export async function billOf(
	planned: Planned,
	{ call: asked, model }: Question,
	{ events, maxTokens, whole }: Passed,
): Promise<Bill> {
	const call = bounded(asked, maxTokens);
	const { cachedTokens, promptTokens, stream, tokensPerEvent } = planned;
	const counted = usageIsTold(planned, whole) && promptTokens > 0;
	if (counted) {
		const cached = planned.door === "ollama" || planned.door === "embed" ? 0 : cachedTokens;
		const output = events * tokensPerEvent;
		return {
			inputTokens: promptTokens,
			cachedTokens: cached,
			outputTokens: output,
			estimated: false,
			microNeurons: microNeurons(model.prices, {
				inputTokens: promptTokens,
				cachedTokens: cached,
				outputTokens: output,
				requests: 1,
			}),
		};
	}
	const progress = new StreamProgress();
	const texts = Array.from({ length: events }, (_, i) => eventText(i + 1, tokensPerEvent));
	for (const content of texts) progress.pass({ content });
	const { estimated, quantities } = stream
		? measureStream(call, { usage: undefined, outputTokens: progress.outputTokens }, model)
		: await measure(call, wholeOutput(planned, texts.join("")) as never, model);
	return {
		inputTokens: quantities.inputTokens ?? 0,
		cachedTokens: quantities.cachedTokens ?? 0,
		outputTokens: quantities.outputTokens ?? 0,
		estimated,
		microNeurons: microNeurons(model.prices, quantities),
	};
}

const bounded = (call: TaskCall, maxTokens: number): TaskCall =>
	call.task === "text-generation" && Number.isFinite(maxTokens)
		? { ...call, input: { ...call.input, max_tokens: maxTokens } }
		: call;

/** Whether the engine's counts came before so much of the answer had passed. */
function usageIsTold({ door, stream, usage }: Planned, whole: boolean): boolean {
	if (usage === "none" || usage === "zeros") return false;
	if (!stream || whole) return true;
	return usage === "every" && door !== "ollama";
}

const wholeOutput = ({ door }: Planned, content: string): unknown =>
	door === "embed"
		? { vectors: [] }
		: ({
				choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
			} satisfies Pick<ChatCompletion, "choices">);
