/**
 * Raw prompts: https://platform.openai.com/docs/api-reference/completions, with answers in the format of a chat. Tools and
 * reasoning are not sent: they need a chat template. Of the passed-through fields, those of self-hosted engines are sent.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { pick } from "../../core/present.ts";
import type { ChatChunk, ChatCompletion, ChatInput } from "../../tasks/text-generation/types.ts";
import { type Heading, headingOf } from "../completion.ts";
import type { Handler } from "../handler.ts";
import type { ReviseChunk } from "../transport/chunk-stream.ts";
import { postJson, postStream } from "../transport/http.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { countAllChoices } from "./choices.ts";
import { bodyFor, ENGINE_SAMPLING, serviceAt } from "./hosts.ts";
import { generateStream, generateValue } from "./prefill-decode/calls.ts";
import { ChatCompletionReply, completion } from "./reply/chat-reply.ts";
import { chatReplyParser } from "./reply/collected-reply.ts";
import { toolContext } from "./reply/sent-calls.ts";
import { sampling } from "./sampling.ts";

const PATH = "/completions";
const ENCODER = new TextEncoder();

/** OpenAI's format. llama.cpp sends that of a chat, with `content`. */
const LogprobsReply = lazy(() =>
	z.looseObject({
		tokens: z.array(z.string()).nullish(),
		token_logprobs: z.array(z.number().nullable()).nullish(),
		top_logprobs: z.array(z.record(z.string(), z.number()).nullable()).nullish(),
	}),
);

/** For an input with a `prompt`. */
export const completeRawPrompt: Handler<"text-generation"> = async (input, call) => {
	const service = serviceAt(call.target);
	const { host, isOpenAi } = service;
	const fields = {
		prompt: input.prompt,
		...(!isOpenAi && pick(input.passthrough ?? {}, ...ENGINE_SAMPLING)),
		suffix: input.suffix,
		...sampling(input, call, service),
		max_tokens: input.max_tokens,
		// A number in this API: of alternatives for each token.
		logprobs: input.logprobs ? (input.top_logprobs ?? 0) : undefined,
	};
	const body = host ? bodyFor({ ...host, limit: "max_tokens" }, fields, true) : fields;
	const choices = input.n ?? 1;
	const generation = { path: PATH, body, choices };
	const chat = () => toolContext({}, call);
	const parse = chatReplyParser(chat, choices);
	if (!input.stream) {
		const reply = await generateValue(call, generation, (legCall, body, headers) =>
			postJson(legCall, PATH, body, ChatCompletionReply, { parse, ...(headers && { headers }) }),
		);
		return completionOf(reply, input, call);
	}
	const revise = chunksOf(call);
	const reply = await generateStream(call, generation, (legCall, body, headers) =>
		postStream(legCall, PATH, body, {
			...{ schema: ChatCompletionReply, choices, chat, parse, revise },
			...(headers && { headers }),
		}),
	);
	return reply.kind === "value" ? completionOf(reply.value, input, call) : reply;
};

function completionOf(reply: ChatCompletionReply, input: ChatInput, call: Call): ChatCompletion {
	const { choices, ...answer } = completion({ ...reply, id: idOf(reply, call) }, call, { n: input.n });
	return countAllChoices({ ...answer, choices: choices.map(withChatLogprobs) }, input);
}

const idOf = ({ id }: Record<string, unknown>, { services }: Call): string =>
	typeof id === "string" && id !== "" ? id : `cmpl-${services.uuid()}`;

/** The chunks of one stream have the same heading. */
function chunksOf(call: Call): ReviseChunk {
	let first: Heading | undefined;
	return (chunk: Partial<ChatChunk>) => {
		const { created, model, choices = [] } = chunk;
		first ??= headingOf(call, { id: idOf({ id: chunk.id }, call), created, model });
		return { ...first, object: "chat.completion.chunk", choices: choices.map(withChatLogprobs) };
	};
}

const withChatLogprobs = <Choice extends { logprobs?: unknown }>(choice: Choice): Choice => ({
	...choice,
	logprobs: chatLogprobs(LogprobsReply().safeParse(choice.logprobs).data),
});

function chatLogprobs(logprobs: z.output<ReturnType<typeof LogprobsReply>> | undefined): unknown {
	if (!logprobs?.tokens) return logprobs ?? null;
	const { tokens, token_logprobs, top_logprobs } = logprobs;
	/** Most positions have the same alternatives, so each token is encoded once. */
	const bytes = new Map<string, number[]>();
	const tokenLogprob = (token: string, logprob: number) => {
		const known = bytes.get(token) ?? [...ENCODER.encode(token)];
		bytes.set(token, known);
		return { token, logprob, bytes: known };
	};
	return {
		content: tokens.map((token, position) => ({
			...tokenLogprob(token, token_logprobs?.[position] ?? 0),
			top_logprobs: Object.entries(top_logprobs?.[position] ?? {}).map(([other, value]) =>
				tokenLogprob(other, value),
			),
		})),
	};
}
