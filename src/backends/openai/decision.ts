/**
 * Decisions of a server with OpenAI's API. OpenAI has `/decisions`; OpenRouter, Fireworks, vLLM and Ollama have `/systemone`. A server that
 * has neither, or not for this model, or not for these questions, is prompted for them (`prompted-decision.ts`).
 */
import * as z from "zod";
import { toAiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { splitDataUrl } from "../../media/base64.ts";
import type { DecisionInput, DecisionOutput, Question } from "../../tasks/decision/types.ts";
import {
	answerTo,
	DecisionReply,
	DecisionUsage,
	decisionOutput,
	Probability,
	type SentAnswer,
	unanswered,
} from "../decision-reply.ts";
import type { Handler } from "../handler.ts";
import { learnRefusal } from "../refused-feature.ts";
import { postJson } from "../transport/http.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { serviceAt } from "./hosts.ts";
import { decide as prompt } from "./prompted-decision.ts";

/** Hosted services that have `/systemone`. */
const SYSTEM_ONE_HOST = /^https:\/\/(?:openrouter\.ai|api\.fireworks\.ai)(?:\/|$)/;

/** The server has no such route, for no model or not for this one. */
const ABSENT: ReadonlySet<number | undefined> = new Set([404, 405, 501]);
/** It cannot answer these questions, or not with this model. */
const UNSUITED: ReadonlySet<number | undefined> = new Set([400, 422]);

export const decide: Handler<"decision"> = async (input, call) => {
	const ask = ownApi(input, call);
	const { target } = call;
	if (!ask || target.observed?.withoutDecisions?.has(target.model)) return prompt(input, call);
	try {
		return await ask(input, call);
	} catch (thrown) {
		const error = toAiError(thrown);
		const { status } = error.upstream ?? {};
		// A proxy may answer unknown paths with something else.
		const isUnreadable = error.key === "executionFailed" && status === undefined;
		if (!ABSENT.has(status) && !UNSUITED.has(status) && !isUnreadable) throw error;
		if (ABSENT.has(status)) learnRefusal(target, "withoutDecisions");
		return prompt(input, call);
	}
};

/** The API that the server may have for this input. */
function ownApi(
	{ audio, videos }: DecisionInput,
	{ target }: Call,
): ((input: DecisionInput, call: Call) => Promise<DecisionOutput>) | undefined {
	if (audio.length > 0 || videos.length > 0) return undefined;
	const { host, isOpenAi } = serviceAt(target);
	if (isOpenAi) return askOpenAi;
	return !host || SYSTEM_ONE_HOST.test(target.url) ? askSystemOne : undefined;
}

async function askSystemOne(input: DecisionInput, call: Call): Promise<DecisionOutput> {
	const { state, questions, images } = input;
	const body = {
		model: call.target.model,
		state,
		questions,
		// Ollama takes no addresses.
		...(images.length > 0 && { images: images.map((url) => splitDataUrl(url)?.base64 ?? url) }),
	};
	return decisionOutput(await postJson(call, "/systemone", body, DecisionReply()), input, call);
}

const Share = z.looseObject({ probability: Probability });
const OpenAiReply = lazy(() =>
	z.looseObject({
		answers: z.array(
			z.discriminatedUnion("type", [
				z.looseObject({ type: z.literal("predicate"), probability: Probability }),
				z.looseObject({
					type: z.literal("choice"),
					choice: z.string(),
					confidence: Probability,
					probabilities: z.array(Share.extend({ value: z.string() })),
				}),
				z.looseObject({
					type: z.literal("score"),
					score: z.number(),
					confidence: Probability,
					probabilities: z.array(Share.extend({ value: z.number() })),
				}),
				z.looseObject({ type: z.literal("refusal") }),
			]),
		),
		usage: DecisionUsage,
	}),
);
type OpenAiAnswer = z.output<ReturnType<typeof OpenAiReply>>["answers"][number];

async function askOpenAi({ state, questions, images }: DecisionInput, call: Call): Promise<DecisionOutput> {
	const text = typeof state === "string" ? state : JSON.stringify(state);
	const content = [
		{ type: "input_text", text },
		...images.map((image_url) => ({ type: "input_image", image_url, detail: "auto" })),
	];
	const asked = Object.entries(questions);
	const body = {
		model: call.target.model,
		input: [{ role: "user", content }],
		questions: asked.map(([name, question]) => openAiQuestion(name, question)),
	};
	const { answers, usage } = await postJson(call, "/decisions", body, OpenAiReply());
	if (answers.length !== asked.length) throw unanswered(call, answers);
	const read = asked.flatMap(([id, question], index) => {
		const sent = answers[index];
		// The model refused to answer.
		if (sent?.type === "refusal") return [];
		const answer = answerTo(question, sent && taskAnswer(sent));
		if (!answer) throw unanswered(call, answers);
		return [[id, answer] as const];
	});
	return { answers: Object.fromEntries(read), usage };
}

function openAiQuestion(name: string, question: Question): object {
	const { instructions } = question;
	switch (question.type) {
		case "noul": {
			const { true: yes, false: no } = question.criteria ?? {};
			const criteria = [yes && `True: ${yes}`, no && `False: ${no}`].filter(Boolean);
			return { type: "predicate", name, instructions: [instructions, ...criteria].join("\n") };
		}
		case "choice": {
			const choices = Object.entries(question.criteria).map(([value, description]) => ({
				value,
				...(description && { description }),
			}));
			return { type: "choice", name, instructions, choices };
		}
		case "score":
			return { type: "score", name, instructions, levels: question.criteria.map((label) => ({ label })) };
		default:
			return question satisfies never;
	}
}

function taskAnswer(answer: Exclude<OpenAiAnswer, { type: "refusal" }>): SentAnswer {
	if (answer.type === "predicate") return { type: "noul", noul: answer.probability };
	const { confidence } = answer;
	const probabilities = Object.fromEntries(
		answer.probabilities.map(({ value, probability }) => [value, probability]),
	);
	return answer.type === "choice"
		? { type: "choice", choice: answer.choice, confidence, probabilities }
		: { type: "score", score: answer.score, confidence, probabilities };
}
