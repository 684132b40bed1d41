/**
 * Text generation: https://platform.openai.com/docs/api-reference/chat, and what vLLM, SGLang and llama.cpp add to it.
 *
 * Streams are forwarded as bytes. A `prompt` without messages goes to `/completions` (`completions.ts`). Usage is always
 * requested; it is absent if the engine sends none.
 *
 * Observed: with `n` above 1 llama.cpp counts the tokens of one choice (`choices.ts`).
 */
import { toAiError } from "../../core/errors.ts";
import { onFirstUse } from "../../core/lazy.ts";
import { pick } from "../../core/present.ts";
import {
	type ChatCompletion,
	type ChatInput,
	type ChatMessage,
	type ChatTool,
	commonEffort,
} from "../../tasks/text-generation/types.ts";
import { narrowTools } from "../allowed-tools.ts";
import { withoutBreakpoints } from "../cache-breakpoints.ts";
import { type Handler, isPlainChat } from "../handler.ts";
import { learnRefusal, withoutIfRefused } from "../refused-feature.ts";
import { withoutSignatures } from "../sealed-messages.ts";
import type { Seals } from "../seals.ts";
import { foldSystemMessages } from "../system-messages.ts";
import { withNamedTools } from "../tool-history.ts";
import { objectSchema } from "../tool-parameters.ts";
import { pairResults } from "../tool-results.ts";
import type { ReviseChunk } from "../transport/chunk-stream.ts";
import { postJson, postStream } from "../transport/http.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { withFittingIds } from "./call-ids.ts";
import { countAllChoices } from "./choices.ts";
import { apiOf, namesResponses } from "./choose-api.ts";
import { completeRawPrompt } from "./completions.ts";
import { bodyFor, ENGINE_SAMPLING, type Host, type OpenAiService, serviceAt } from "./hosts.ts";
import { withModelFields } from "./model-fields.ts";
import { type Generation, generateStream, generateValue } from "./prefill-decode/calls.ts";
import {
	detailsOf,
	detailsSealer,
	lacksDetails,
	sealDetails,
	sealSecrets,
	secretsSealer,
} from "./reasoning-details.ts";
import { ChatCompletionReply, completion } from "./reply/chat-reply.ts";
import { chatReplyParser } from "./reply/collected-reply.ts";
import { toolContext } from "./reply/sent-calls.ts";
import { sampling } from "./sampling.ts";
import { chunkSealer, sealCompletion, signedFields } from "./signatures.ts";
import { withUserImages } from "./user-images.ts";

const PATH = "/chat/completions";

const RESPONSES = onFirstUse(() => import("./responses/index.ts"));

const ADAPTERS = onFirstUse(() => import("./adapters/index.ts"));

export const generateText: Handler<"text-generation"> = (input, call) => {
	const mayApply = input.lora !== undefined || call.target.adapters?.engine === "llama.cpp";
	return mayApply ? withAdapter(input, call) : generate(input, call);
};

const withAdapter: Handler<"text-generation"> = async (input, call) =>
	(await ADAPTERS()).withAdapter(input, call, generate);

const generate: Handler<"text-generation"> = (input, call) => {
	if (input.prompt !== undefined) return completeRawPrompt(input, call);
	return isPlainChat(input) ? byApi(input, call) : withNamedTools(input, call, byApi);
};

const byResponses: Handler<"text-generation"> = async (input, call) => {
	const { generateByResponses } = await RESPONSES();
	return generateByResponses(input, call);
};

/** A refusal that names the other API is not the answer: the request is repeated there, once. */
const byApi: Handler<"text-generation"> = async (input, call) => {
	if (apiOf(input, call) === "responses") return byResponses(input, call);
	const { api = "auto" } = call.target;
	if (!input.tools?.length || api !== "auto") return requestOf(input, call);
	return withoutIfRefused(call, {
		isNamed: ({ body }) => namesResponses(body),
		request: (first) => requestOf(input, first),
		requestWithout: (second, refused) =>
			byResponses(input, second).catch((error: unknown) => {
				// The host does not have that API.
				throw toAiError(error).key === "noSuchModel" ? refused : error;
			}),
		learn: () => learnRefusal(call.target, "chatRefusesTools"),
	});
};

const requestOf: Handler<"text-generation"> = async (sent, call) => {
	const input = withModelFields(sent, call, "chat");
	const service = serviceAt(call.target);
	const sealing = service.host && sealingOf(service.host, input);
	const seals = sealing && (await call.seals?.());
	const body = requestBody(input, { call, service, seals });
	const generation = { path: PATH, body, choices: input.n ?? 1 };
	const sealed = sealing && { sealing, seals };
	return input.stream
		? streamChat(input, call, sealed, generation)
		: wholeChat(input, call, sealed, generation);
};

/** Seals the reasoning in the answers of a host whose later requests need it. */
interface Sealing {
	revise(seals: Seals | undefined): ReviseChunk;
	completion(reply: ChatCompletion, seals: Seals | undefined): ChatCompletion;
}

interface SealedReasoning {
	sealing: Sealing;
	seals: Seals | undefined;
}

const SIGNATURES: Sealing = { revise: chunkSealer, completion: sealCompletion };
const SECRETS: Sealing = { revise: secretsSealer, completion: sealSecrets };
const DETAILS: Sealing = { revise: detailsSealer, completion: sealDetails };

function sealingOf({ signed, reasoningDetails }: Host, input: ChatInput): Sealing | undefined {
	if (signed) return SIGNATURES;
	if (!reasoningDetails) return undefined;
	return input.takesReasoningDetails ? SECRETS : DETAILS;
}

async function streamChat(
	input: ChatInput,
	call: Call,
	sealed: SealedReasoning | undefined,
	generation: Generation,
): ReturnType<Handler<"text-generation">> {
	const { choices } = generation;
	const context = () => toolContext(input, call);
	const post = (legCall: Call, body: Generation["body"], headers?: Record<string, string>) =>
		postStream(legCall, PATH, body, {
			schema: ChatCompletionReply,
			choices,
			chat: context,
			parse: chatReplyParser(context, choices),
			...(sealed ? { revise: sealed.sealing.revise(sealed.seals) } : { streamEnd: call.streamEnd }),
			...(headers && { headers }),
		});
	const reply = await (call.prefill ? generateStream(call, generation, post) : post(call, generation.body));
	return reply.kind === "stream" ? reply : wholeReply(reply.value, input, call, sealed);
}

/** A complete reply. */
export async function chat(input: ChatInput, call: Call): Promise<ChatCompletion> {
	const answer = await generateText({ ...input, stream: false }, call);
	if ("events" in answer) throw new TypeError("A stream was not requested");
	return answer;
}

async function wholeChat(
	input: ChatInput,
	call: Call,
	sealed: SealedReasoning | undefined,
	generation: Generation,
): Promise<ChatCompletion> {
	const reply = await generateValue(call, generation, (legCall, body, headers) =>
		postJson(legCall, PATH, body, ChatCompletionReply, {
			parse: chatReplyParser(() => toolContext(input, call), input.n ?? 1),
			...(headers && { headers }),
		}),
	);
	return wholeReply(reply, input, call, sealed);
}

function wholeReply(
	reply: Parameters<typeof completion>[0],
	input: ChatInput,
	call: Call,
	sealed: SealedReasoning | undefined,
): ChatCompletion {
	const whole = countAllChoices(completion(reply, call, input), input);
	return sealed ? sealed.sealing.completion(whole, sealed.seals) : whole;
}

function requestBody(sent: ChatInput, from: Omit<MessageOptions, "isPlain">): Record<string, unknown> {
	const { call, service } = from;
	const { host, isOpenAi: strict } = service;
	const isPlain = isPlainChat(sent);
	const accepted = host?.cacheBreakpoints || isPlain ? sent : withoutBreakpoints(sent);
	const messages = messagesFor(accepted.messages, { ...from, isPlain });
	const lacksReasoning = host?.reasoningDetails && lacksDetails(messages, call.target);
	const input = lacksReasoning ? withoutReasoning(accepted) : accepted;
	const effort = commonEffort(input);
	const isOff = effort === null;
	// Sent if the caller sent it, unless the host has its own field. Engines have no level above `high`.
	const isNone = input.reasoning_effort === "none" && !host?.disableReasoning;
	const body = {
		...(strict ? withoutSampling(input.passthrough) : input.passthrough),
		messages,
		...sampling(input, call, service),
		...pick(input, "logprobs", "top_logprobs", "parallel_tool_calls", "cache_control"),
		reasoning_effort: strict
			? (input.reasoning_effort ?? undefined)
			: isNone
				? "none"
				: (effort ?? undefined),
		// Both names, so that a passed-through field cannot raise the limit. OpenAI's newer models refuse `max_tokens`.
		max_tokens: strict ? undefined : input.max_tokens,
		max_completion_tokens: strict ? input.max_tokens : undefined,
		...(strict
			? { ...pick(input, "tool_choice"), tools: input.tools?.map(withObjectSchema) }
			: {
					...(input.tool_choice === undefined ? pick(input, "tools") : narrowTools(input)),
					// Besides `none`, a setting of the chat template.
					chat_template_kwargs: isOff
						? { enable_thinking: false, ...input.chat_template_kwargs }
						: input.chat_template_kwargs,
				}),
	};
	return host ? bodyFor(host, body, !isOff) : body;
}

const withoutReasoning = (input: ChatInput): ChatInput => ({ ...input, reasoning_effort: null });

/** OpenAI's own service refuses unknown fields. */
const withoutSampling = (sent: ChatInput["passthrough"] = {}): Record<string, unknown> =>
	Object.fromEntries(Object.entries(sent).filter(([name]) => !ENGINE_SAMPLING.has(name)));

interface MessageOptions {
	call: Call;
	service: OpenAiService;
	seals: Seals | undefined;
	isPlain: boolean;
}

/** Hosted services accept system messages anywhere; the chat templates of engines do not. The setting of the backend overrides both. */
function messagesFor(messages: ChatMessage[], { call, service, seals, isPlain }: MessageOptions): object[] {
	const { target } = call;
	const { host, isOpenAi } = service;
	const isHosted = isOpenAi || host !== undefined;
	if (isPlain && !isHosted) return messages.map(withEngineRole);
	const { systemMessages = isHosted ? "anywhere" : "first" } = target;
	const paired = pairResults(messages, isHosted ? "text" : "keep");
	const folded = foldSystemMessages(paired, { ...target, systemMessages });
	if (!isHosted) return folded.map(forEngine);
	const moved = withUserImages(folded);
	if (!host) return moved.map((message) => forService(withFittingIds(message, OPENAI_CALL_IDS)));
	const { callIds } = host;
	const fitting = callIds ? moved.map((message) => withFittingIds(message, callIds)) : moved;
	return fitting.map((message) => ({
		...forHost(message, host),
		...(host.reasoningDetails && detailsField(message, seals, call)),
		...(host.signed && signedFields(message, seals, call)),
	}));
}

/** OpenAI's service refuses longer ones. */
const OPENAI_CALL_IDS = /^.{1,40}$/s;

/** A tool without parameters stays without. */
function withObjectSchema({ function: called, ...tool }: ChatTool): ChatTool {
	const { parameters } = called;
	return { ...tool, function: parameters ? { ...called, parameters: objectSchema(parameters) } : called };
}

/** OpenAI refuses the reasoning of earlier messages. */
function forService(sent: ChatMessage): Record<string, unknown> {
	const { reasoning_content: _, ...message } = withoutSignatures(sent);
	return message;
}

/** The reasoning of an answer of another model is not known. DeepSeek and Moonshot accept an empty one, but not its absence. */
function forHost(sent: ChatMessage, { reasoningField, needsReasoning }: Host): Record<string, unknown> {
	const { role, ...message } = forService(sent);
	const reasoning = sent.reasoning_content ?? (needsReasoning && sent.tool_calls?.length ? "" : undefined);
	return {
		role: role === "developer" ? "system" : role,
		...message,
		...(reasoningField && reasoning !== undefined && { [reasoningField]: reasoning }),
	};
}

function detailsField(message: ChatMessage, seals: Seals | undefined, call: Call): object {
	const details = message.role === "assistant" ? detailsOf(message, seals, call) : [];
	return details.length > 0 ? { reasoning_details: details } : {};
}

/** vLLM renamed `reasoning_content` to `reasoning`. */
function forEngine(sent: ChatMessage): Record<string, unknown> {
	const { reasoning_content } = sent;
	const message = withEngineRole(withoutSignatures(sent));
	return { ...message, ...(reasoning_content !== undefined && { reasoning: reasoning_content }) };
}

/** Chat templates have no role `developer`. */
const withEngineRole = ({ role, ...message }: Pick<ChatMessage, "role">): Record<string, unknown> => ({
	role: role === "developer" ? "system" : role,
	...message,
});
