/**
 * Raw prompts: https://platform.openai.com/docs/api-reference/completions, with answers in the format of a chat. Tools and
 * reasoning are not sent: they need a chat template. Of the passed-through fields, those of self-hosted engines are sent.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { pick } from "../../core/present.ts";
import { SentUsage } from "../../core/usage.ts";
import { DONE, frame, isDone, mapEvents } from "../../streams/sse.ts";
import type { ChatCompletion, ChatInput } from "../../tasks/text-generation/types.ts";
import type { Handler } from "../handler.ts";
import { postJson, postStream } from "../transport/http.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { countAllChoices } from "./choices.ts";
import { bodyFor, ENGINE_SAMPLING, hostedService, isOpenAiService } from "./hosts.ts";
import { generateStream, generateValue } from "./prefill-decode/calls.ts";
import { sampling } from "./sampling.ts";

const PATH = "/completions";

/** OpenAI's format. llama.cpp sends that of a chat, with `content`. */
const LogprobsReply = lazy(() =>
	z.looseObject({
		tokens: z.array(z.string()).nullish(),
		token_logprobs: z.array(z.number().nullable()).nullish(),
		top_logprobs: z.array(z.record(z.string(), z.number()).nullable()).nullish(),
	}),
);

/** A complete reply, or one event of a stream. */
const CompletionReply = lazy(() =>
	z.looseObject({
		id: z.string().nullish(),
		created: z.number().nullish(),
		model: z.string().nullish(),
		choices: z.array(
			z.looseObject({
				index: z.number().nullish(),
				text: z.string().nullish(),
				finish_reason: z.string().nullish(),
				logprobs: LogprobsReply().nullish(),
			}),
		),
		usage: SentUsage.nullish(),
	}),
);
type CompletionReply = z.output<ReturnType<typeof CompletionReply>>;

const CompleteReply = lazy(() => CompletionReply().refine(({ choices }) => choices.length > 0));

/** For an input with a `prompt`. */
export const completeRawPrompt: Handler<"text-generation"> = async (input, call) => {
	const host = hostedService(call.target);
	const fields = {
		prompt: input.prompt,
		...(!isOpenAiService(call.target) && pick(input.passthrough ?? {}, ...ENGINE_SAMPLING)),
		suffix: input.suffix,
		...sampling(input, call),
		max_tokens: input.max_tokens,
		// A number in this API: of alternatives for each token.
		logprobs: input.logprobs ? (input.top_logprobs ?? 0) : undefined,
	};
	const body = host ? bodyFor({ ...host, limit: "max_tokens" }, fields, true) : fields;
	const choices = input.n ?? 1;
	const generation = { path: PATH, body, choices };
	if (!input.stream) {
		const reply = await generateValue(call, generation, (legCall, body, headers) =>
			postJson(legCall, PATH, body, CompleteReply(), headers && { headers }),
		);
		return completionOf(reply, input, call);
	}
	const reply = await generateStream(call, generation, (legCall, body, headers) =>
		postStream(legCall, PATH, body, { schema: CompleteReply(), choices, ...(headers && { headers }) }),
	);
	return reply.kind === "value"
		? completionOf(reply.value, input, call)
		: { ...reply, events: chatChunks(reply.events, call) };
};

const completionOf = (reply: CompletionReply, input: ChatInput, call: Call): ChatCompletion =>
	countAllChoices(chatCompletion(reply, call), input);

function chatCompletion(reply: CompletionReply, call: Call): ChatCompletion {
	return {
		...reply,
		...heading(reply, call),
		object: "chat.completion",
		choices: reply.choices.map(({ text, logprobs, ...choice }, index) => ({
			...choice,
			index: choice.index ?? index,
			message: { role: "assistant", content: text ?? "" },
			logprobs: chatLogprobs(logprobs),
			finish_reason: choice.finish_reason || "stop",
		})),
		usage: reply.usage ?? undefined,
	};
}

/** Takes over `events`. They have been checked already, except for their form. */
function chatChunks(events: ReadableStream<Uint8Array>, call: Call): ReadableStream<Uint8Array> {
	const begun = new Set<number>();
	let first: ReturnType<typeof heading> | undefined;
	return mapEvents(events, {
		onData(data) {
			if (isDone(data)) return DONE;
			const { data: reply } = CompletionReply().safeParse(JSON.parse(data));
			if (!reply) throw failureOfShape(call, `an event of ${PATH}`);
			first ??= heading(reply, call);
			return frame({
				...reply,
				...first,
				object: "chat.completion.chunk",
				choices: reply.choices.map(({ text, logprobs, ...choice }, position) => {
					const index = choice.index ?? position;
					const role = begun.has(index) ? {} : { role: "assistant" };
					begun.add(index);
					return {
						...choice,
						index,
						delta: { ...role, content: text ?? "" },
						logprobs: chatLogprobs(logprobs),
						finish_reason: choice.finish_reason || null,
					};
				}),
			});
		},
	});
}

const heading = (reply: CompletionReply, { target, services }: Call) => ({
	id: reply.id ?? `cmpl-${services.uuid()}`,
	created: reply.created ?? Math.floor(services.now() / 1000),
	model: reply.model ?? target.model,
});

function chatLogprobs(logprobs: CompletionReply["choices"][number]["logprobs"]): unknown {
	if (!logprobs?.tokens) return logprobs ?? null;
	const { tokens, token_logprobs, top_logprobs } = logprobs;
	return {
		content: tokens.map((token, position) => ({
			...tokenLogprob(token, token_logprobs?.[position] ?? 0),
			top_logprobs: Object.entries(top_logprobs?.[position] ?? {}).map(([other, value]) =>
				tokenLogprob(other, value),
			),
		})),
	};
}

const tokenLogprob = (token: string, logprob: number) => ({
	token,
	logprob,
	bytes: [...new TextEncoder().encode(token)],
});
